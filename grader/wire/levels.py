"""Levels of confinement and limits, as the trusted side asks a zygote for them."""

from __future__ import annotations

import math

import msgspec

LEVELS = ("full", "landlock", "process")  # the strongest first
BUDGET_CHECKS = 6  # a grading may take as much as this many checks that time out
GPU_CONTEXT = 512  # MiB that CUDA takes for each process, beside what torch gives out
GPU_STANDING = 2  # workers that one process which grades has at once: one more stands ready
GPU_LEAST = 512  # MiB that torch should have to give out to each


class Limits(msgspec.Struct, frozen=True):
    """What a worker may take.

    Attributes:
        memory: Beyond what Python and torch take already, in MiB.
        cpu: Processor time, in seconds.
        files: Open files.
        file_size: Of one file that it writes, in MiB.
        scratch: Of all files in its folder, in MiB, where namespaces can be had.
        tasks: Processes and threads, where namespaces can be had.
        gpu_memory: That torch gives out on a GPU, in MiB.
        gpu_sharers: Processes that grade on the same GPU.
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
    """What a zygote is told at its start.

    Attributes:
        levels: Those that will do, the best first, out of ``LEVELS``.
        limits: What a worker may take.
        on_gpu: Whether a worker needs the devices of CUDA.
        gpu: The device file of the one GPU that it is given; empty where it cannot be told.
        paths: Folders that hold packages, beside Python's own.
        spawned: Whether the process is to be the one worker itself.
    """

    levels: list[str]
    limits: Limits = Limits()
    on_gpu: bool = False
    gpu: str = ""
    paths: list[str] = []
    spawned: bool = False


def sharers_that_fit(total: int) -> int:
    """How many processes that grade a GPU with so much memory, in MiB, is enough for."""
    return total // (GPU_STANDING * (GPU_CONTEXT + GPU_LEAST))


def limits_for(timeout: float, memory: int | None = None, gpu_sharers: int = 1) -> Limits:
    """Limits of a worker whose checks may take so long, in seconds; memory in MiB."""
    usual = Limits()
    cpu = math.ceil(timeout * BUDGET_CHECKS) + 5
    memory = usual.memory if memory is None else memory
    return Limits(memory=memory, cpu=cpu, gpu_sharers=gpu_sharers)
