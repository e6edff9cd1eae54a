"""The first touch of CUDA, which a worker does before it has seen a line of a submission."""

from __future__ import annotations

import torch

from grader.wire.levels import GPU_CONTEXT, GPU_STANDING, Limits

MIB = 1 << 20


class NoGpu(Exception):
    """CUDA cannot be used in this process; the text says why, as one line."""


def touch(limits: Limits) -> None:
    """Begin with CUDA in this process: its memory bounded, its libraries loaded.

    A context cannot be forked, so each worker makes its own. Nothing is done where torch was built
    without CUDA: then nobody is going to ask for it.

    Raises:
        NoGpu: There is none that it can use, or not enough of its memory is free.
    """
    if not torch.backends.cuda.is_built():
        return
    try:
        total = torch.cuda.get_device_properties(0).total_memory // MIB
        torch.cuda.set_per_process_memory_fraction(part(limits, total))
        torch.set_float32_matmul_precision("highest")  # a submission may set it otherwise
        x = torch.ones(2, 3, 3, device="cuda", requires_grad=True)
        torch.softmax(x @ x.mT, dim=-1).sum().backward()
        torch.cuda.synchronize()
    except NoGpu:
        raise
    except Exception as error:  # of torch, of its libraries, of the driver
        reason = str(error).strip().partition("\n")[0]
        raise NoGpu(f"CUDA cannot be used there: {reason[:200]}") from None


def part(limits: Limits, total: int) -> float:
    """The part of a GPU's memory that torch may give out to one worker.

    Args:
        limits: What a worker may take, and how many processes that grade share the GPU.
        total: Its memory, in MiB.

    Raises:
        NoGpu: Nothing is left for one of so many.
    """
    room = total / (limits.gpu_sharers * GPU_STANDING) - GPU_CONTEXT
    if room <= 0:
        raise NoGpu(f"{total} MiB of the GPU are too few for {limits.gpu_sharers} processes")
    return min(limits.gpu_memory, room) / total
