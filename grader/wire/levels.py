"""Levels of confinement and limits, as the trusted side asks a zygote for them."""

from __future__ import annotations

import math

import msgspec

LEVELS = ("full", "landlock", "process")  # the strongest first
BUDGET_CHECKS = 6  # a grading may take as much as this many checks that time out


class Limits(msgspec.Struct, frozen=True):
    """What a worker may take.

    Attributes:
        memory: Beyond what Python and torch take already, in MiB.
        cpu: Processor time, in seconds.
        files: Open files.
        file_size: Of one file that it writes, in MiB.
        scratch: Of all files in its folder, in MiB, where namespaces can be had.
        tasks: Processes and threads, where namespaces can be had.
    """

    memory: int = 2048
    cpu: int = 120
    files: int = 256
    file_size: int = 64
    scratch: int = 64
    tasks: int = 64


class Confinement(msgspec.Struct, frozen=True):
    """What a zygote is told at its start.

    Attributes:
        levels: Those that will do, the best first, out of ``LEVELS``.
        limits: What a worker may take.
        on_gpu: Whether a worker needs the devices of CUDA.
        paths: Folders that hold packages, beside Python's own.
        spawned: Whether the process is to be the one worker itself.
    """

    levels: list[str]
    limits: Limits = Limits()
    on_gpu: bool = False
    paths: list[str] = []
    spawned: bool = False


def limits_for(timeout: float, memory: int | None = None) -> Limits:
    """Limits of a worker whose checks may take so long, in seconds; memory in MiB."""
    usual = Limits()
    cpu = math.ceil(timeout * BUDGET_CHECKS) + 5
    return Limits(memory=usual.memory if memory is None else memory, cpu=cpu)
