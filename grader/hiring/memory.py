"""The memory that a batch may take: most of what is free on this machine and in its container.

Source: the Linux kernel, admin-guide/cgroup-v1/memory.rst and admin-guide/cgroup-v2.rst
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
SHARE_TO_TAKE = 0.8  # of what is free, so that others on the machine still find some
# In a group's folder: the limit, what is in use, and the line of `memory.stat` that says how much
# of that the kernel gives back when it is wanted; of version 2, then of version 1.
GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def memory_to_take() -> int:
    """Return the memory that all processes of a batch may take together, in MiB."""
    free = min((_free_on_machine(), *_free_in_groups()))
    return int(free * SHARE_TO_TAKE) >> 20


def _free_on_machine() -> int:
    """Return the bytes that are free; where the system does not tell, all that there are."""
    with contextlib.suppress(OSError):
        for line in (PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    if not hasattr(os, "sysconf"):
        return 1 << 40
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_in_groups() -> Iterator[int]:
    """Yield the bytes that each group of this process, inner ones first, may still take."""
    groups = ""
    with contextlib.suppress(OSError):
        groups = (PROC / "self/cgroup").read_text()
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):  # version 2 names none
            top = CGROUPS / controllers
            folder = top / path.lstrip("/")
            for group in (folder, *folder.parents):
                yield from _free_in(group)
                if group == top:
                    break


def _free_in(group: Path) -> Iterator[int]:
    for limit, used, given_back in GROUP_FILES:
        try:
            most, now = (int((group / name).read_text()) for name in (limit, used))
            stat = (group / "memory.stat").read_text()
        except (OSError, ValueError):  # there is no such file, or no limit: `max`
            continue
        counts = dict(line.split(maxsplit=1) for line in stat.splitlines())
        yield max(most - now + int(counts.get(given_back, 0)), 0)
