"""Initializes CUDA in a worker, before the worker has seen a line of a submission."""

from __future__ import annotations

import torch

from grader.wire.levels import GPU_CONTEXT_MIB, GPU_WORKERS_PER_SHARER, Limits

MIB = 1 << 20


class NoGpu(Exception):
    """CUDA cannot be used in this process; the text says why, as one line."""


def initialize_cuda(limits: Limits) -> None:
    """Initialize CUDA in this process: bound its memory, and load its libraries.

    A context cannot be forked, so each worker makes its own. Nothing is done where torch was built
    without CUDA: then nobody is going to ask for it.

    Raises:
        NoGpu: The process can use no GPU, or not enough GPU memory is free.
    """
    if not torch.backends.cuda.is_built():
        return
    try:
        total = torch.cuda.get_device_properties(0).total_memory // MIB
        torch.cuda.set_per_process_memory_fraction(memory_fraction(limits, total))
        torch.set_float32_matmul_precision("highest")  # a submission may set it otherwise
        x = torch.ones(2, 3, 3, device="cuda", requires_grad=True)
        torch.softmax(x @ x.mT, dim=-1).sum().backward()
        torch.cuda.synchronize()
    except NoGpu:
        raise
    except Exception as error:  # from torch, its libraries or the driver
        reason = str(error).strip().partition("\n")[0]
        raise NoGpu(f"CUDA cannot be used there: {reason[:200]}") from None


def memory_fraction(limits: Limits, total: int) -> float:
    """Return the fraction of a GPU's memory that torch may allocate in one worker.

    Args:
        limits: Limits of a worker, and the number of grading processes that share the GPU.
        total: The GPU's memory, in MiB.

    Raises:
        NoGpu: With so many processes, no memory is left for a worker.
    """
    room = total / (limits.gpu_sharers * GPU_WORKERS_PER_SHARER) - GPU_CONTEXT_MIB
    if room <= 0:
        raise NoGpu(f"{total} MiB of the GPU are too few for {limits.gpu_sharers} processes")
    return min(limits.gpu_memory, room) / total
