"""Levels of confinement and limits, as the trusted side asks a zygote for them."""

from __future__ import annotations

import math

import msgspec

LEVELS = ("full", "landlock", "process")  # the strongest first
BUDGET_IN_TIMEOUTS = 6  # a grading may take as long as this many checks that time out
GPU_CONTEXT_MIB = 512  # what CUDA takes for each process, in addition to what torch allocates
GPU_WORKERS_PER_SHARER = 2  # of one grading process: one in use, one standing ready
MIN_GPU_MIB_PER_WORKER = 512  # what torch should be able to allocate


class Limits(msgspec.Struct, frozen=True):
    """The resource limits of a worker.

    Attributes:
        memory: Memory beyond what Python and torch take already, in MiB.
        cpu: Processor time, in seconds.
        files: Number of open files.
        file_size: Size of one file that the worker writes, in MiB.
        scratch: Size of all files in the worker's folder, in MiB, where namespaces are available.
        tasks: Number of processes and threads, where namespaces are available.
        gpu_memory: Memory that torch may allocate on a GPU, in MiB.
        gpu_sharers: Number of processes that grade on the same GPU.
    """

    memory: int = 2048
    cpu: int = 120
    files: int = 256
    file_size: int = 64
    scratch: int = 64
    tasks: int = 64
    gpu_memory: int = 2048
    gpu_sharers: int = 1


class Confinement(msgspec.Struct, frozen=True):
    """How a zygote is to confine its workers, as it is told at its start.

    Attributes:
        levels: Acceptable levels of confinement out of ``LEVELS``, the best first.
        limits: The resource limits of a worker.
        on_gpu: Whether a worker needs the devices of CUDA.
        gpu: The device file of the one GPU that a worker gets; empty if it cannot be determined.
        paths: Folders that hold packages, in addition to Python's own.
        spawned: Whether the process is itself to be the only worker.
    """

    levels: list[str]
    limits: Limits = Limits()
    on_gpu: bool = False
    gpu: str = ""
    paths: list[str] = []
    spawned: bool = False


def sharers_that_fit(total: int) -> int:
    """Return how many grading processes a GPU with ``total`` MiB of memory is enough for."""
    return total // (GPU_WORKERS_PER_SHARER * (GPU_CONTEXT_MIB + MIN_GPU_MIB_PER_WORKER))


def limits_for(timeout: float, memory: int | None = None, gpu_sharers: int = 1) -> Limits:
    """Return the limits of a worker whose checks take at most ``timeout`` seconds.

    The memory is given in MiB; None is for the default.
    """
    usual = Limits()
    cpu = math.ceil(timeout * BUDGET_IN_TIMEOUTS) + 5
    memory = usual.memory if memory is None else memory
    return Limits(memory=memory, cpu=cpu, gpu_sharers=gpu_sharers)
