"""Drops a process's capabilities, and sets how it relates to its parent and to other processes.

Source: capabilities(7), capset(2), prctl(2)
"""

from __future__ import annotations

import struct

from grader.worker.walls.libc import MACHINE, WallError, prctl, syscall

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36
PR_CAPBSET_DROP = 24
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPSET_NUMBERS = {"x86_64": 126, "aarch64": 91}
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 40


def drop_capabilities() -> None:
    """Give up every capability of this process, and any chance of getting one back.

    Raises:
        WallError: The kernel refuses.
    """
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl("capability", PR_CAPBSET_DROP, capability)
        except WallError:
            break  # a process without privileges has none to drop
    prctl("ambient capabilities", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    prctl("no new privileges", PR_SET_NO_NEW_PRIVS, 1)
    if MACHINE in CAPSET_NUMBERS:
        head = struct.pack("<Ii", CAPABILITY_VERSION_3, 0)
        syscall("capset", CAPSET_NUMBERS[MACHINE], head, b"\0" * 24)


def hide_memory() -> None:
    """Close /proc/PID/mem and the like to every other process of this user."""
    prctl("dumpable", PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    prctl("subreaper", PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal_number: int) -> None:
    """Have the kernel signal this process when the process that forked it ends."""
    prctl("parent death signal", PR_SET_PDEATHSIG, signal_number)
