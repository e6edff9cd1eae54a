"""Landlock: restricts which files a process may touch, and what it may connect to or signal.

Source: https://docs.kernel.org/userspace-api/landlock.html, linux/landlock.h
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from grader.worker.walls.libc import prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same everywhere
GET_VERSION = 1
RULE_PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
READ = READ_FILE | READ_DIR
# Bits of all rights over files that each version of the interface knows.
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NET_RIGHTS = 0b11  # bind and connect TCP, from version 4
SCOPES = 0b11  # abstract Unix sockets and signals, from version 6


def version() -> int:
    """Return the version of the kernel's Landlock interface.

    Raises:
        WallError: The kernel has no Landlock.
    """
    return syscall("landlock", CREATE_RULESET, None, 0, GET_VERSION)


def make_ruleset(
    readable: Iterable[Path], writable: Iterable[Path], devices: Iterable[Path]
) -> int:
    """Make a ruleset, to be entered by this process or one that it forks.

    Args:
        readable: Files and folders that may be read, with all beneath them.
        writable: Files that may be read and written, and folders that may be filled.
        devices: Device files that may be read, written and controlled.

    Returns:
        The ruleset's file descriptor.

    Raises:
        WallError: The kernel has no Landlock.
    """
    known = version()
    handled = max(rights for since, rights in FILE_RIGHTS.items() if since <= known)
    attributes = struct.pack(
        "<QQQ", handled, NET_RIGHTS if known >= 4 else 0, SCOPES if known >= 6 else 0
    )
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = syscall("landlock_create_ruleset", CREATE_RULESET, attributes, size, 0)
    for path in readable:
        _allow(ruleset, path, READ)
    for path in writable:
        _allow(ruleset, path, handled & ~(EXECUTE | IOCTL_DEV))
    for path in devices:
        _allow(ruleset, path, handled & (READ | WRITE_FILE | IOCTL_DEV))
    return ruleset


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there need not be allowed
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, descriptor))
        syscall("landlock_add_rule", ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def enter(ruleset: int) -> None:
    """Restrict this process to a ruleset permanently, and close the ruleset's descriptor.

    Raises:
        WallError: The kernel refuses.
    """
    prctl("no new privileges", PR_SET_NO_NEW_PRIVS, 1)
    syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
