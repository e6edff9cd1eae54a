"""Resource limits.

Source: getrlimit(2), proc(5)
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import NamedTuple

from grader.wire.levels import Limits

MIB = 1 << 20
MAX_PENDING_SIGNALS = 64


class MemoryInUse(NamedTuple):
    """The memory that this process already uses, in bytes: address space, and writable part."""

    space: int
    data: int


def memory_in_use() -> MemoryInUse:
    """Return the memory that this process uses now, as /proc tells; a guess without a /proc."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return MemoryInUse(1024 * MIB, 1024 * MIB)
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    return MemoryInUse(*(int(sizes[name].split()[0]) * 1024 for name in ("VmSize", "VmData")))


def limit_resources(limits: Limits, used: MemoryInUse, own_users: bool, on_gpu: bool) -> None:
    """Bound memory, processor time, files and locks of this process, permanently.

    Args:
        limits: The bounds; that on memory is added to what is in use.
        used: Memory that was in use before any of it was the submission's.
        own_users: Whether this process is in a user namespace of its own. Only there is the number
            of tasks bounded: elsewhere it counts everything that the user runs.
        on_gpu: Whether CUDA is wanted, which reserves more addresses than it uses: then memory is
            bounded by ``limit_data``, once CUDA is initialized.
    """
    values = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_FSIZE: limits.file_size * MIB,
    }
    if hasattr(resource, "RLIMIT_SIGPENDING"):  # all processes of a user share what is left
        values[resource.RLIMIT_SIGPENDING] = MAX_PENDING_SIGNALS
    for name in ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_RTPRIO", "RLIMIT_NICE"):
        if hasattr(resource, name):
            values[getattr(resource, name)] = 0
    if not on_gpu:
        space = limits.memory * MIB
        values[resource.RLIMIT_AS] = space + used.space
        values[resource.RLIMIT_DATA] = space + used.data
    if own_users:
        values[resource.RLIMIT_NPROC] = limits.tasks
    for kind, value in values.items():
        _set(kind, value)


def limit_data(limits: Limits) -> None:
    """Bound how much writable memory this process may add to what it has now, permanently.

    Addresses that are only reserved do not count, nor does the memory of a device.
    """
    if Path("/proc/self/status").exists():  # else what is in use would be a guess
        _set(resource.RLIMIT_DATA, limits.memory * MIB + memory_in_use().data)


def _set(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))
