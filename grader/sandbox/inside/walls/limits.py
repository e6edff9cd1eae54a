"""Resource limits.

Source: getrlimit(2), proc(5)
"""

from __future__ import annotations

import resource
from pathlib import Path

from grader.sandbox.wire.levels import Limits

MIB = 1 << 20


def limit_resources(limits: Limits, own_users: bool, on_gpu: bool) -> None:
    """Bound memory, processor time, files and locks, for good.

    Args:
        limits: The bounds.
        own_users: Whether this process is in a user namespace of its own: elsewhere the number
            of tasks counts everything that the user runs.
        on_gpu: Whether CUDA is wanted, which reserves more addresses than it uses.
    """
    values = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_FSIZE: limits.file_size * MIB,
    }
    for name in ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_RTPRIO", "RLIMIT_NICE"):
        if hasattr(resource, name):
            values[getattr(resource, name)] = 0
    if not on_gpu:
        space = limits.memory * MIB
        values[resource.RLIMIT_AS] = space + _in_use("VmSize")
        values[resource.RLIMIT_DATA] = space + _in_use("VmData")
    if own_users:
        values[resource.RLIMIT_NPROC] = limits.tasks
    for kind, value in values.items():
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def _in_use(field: str) -> int:
    """A figure of this process, in bytes; a guess where there is no /proc."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 1024 * MIB
    line = next(line for line in status.splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024
