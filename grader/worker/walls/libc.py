"""System calls that Python's ``os`` has no name for."""

from __future__ import annotations

import ctypes
import os
import platform

MACHINE = platform.machine()
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_locked_libc = ctypes.PyDLL(None, use_errno=True)  # the same, with the interpreter's lock kept
_locked_libc.syscall.restype = ctypes.c_long


class WallError(Exception):
    """A wall, one mechanism of confinement, cannot be put up on this system.

    The text says which system call was refused and why.
    """


def syscall(
    name: str,
    number: int,
    *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None,
    locked: bool = False,
) -> int:
    """Make a system call.

    Args:
        name: Name of the call, for the error message.
        number: Number of the call on this machine.
        arguments: Integers, or buffers that are passed by address.
        locked: Whether the interpreter's lock is kept during the call, as a fork needs it.

    Raises:
        WallError: The call failed.
    """
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = (_locked_libc if locked else _libc).syscall(ctypes.c_long(number), *given)
    if result < 0:
        raise WallError(f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(name: str, option: int, *arguments: int | ctypes.Array[ctypes.c_char]) -> None:
    """Change a property of this process.

    Source: prctl(2)

    Raises:
        WallError: The call failed.
    """
    padded = [*arguments, 0, 0, 0, 0][:4]
    given = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in padded]
    if _libc.prctl(option, *given) < 0:
        raise WallError(f"prctl {name}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system or a folder into the tree of files.

    Source: mount(2)

    Raises:
        WallError: The call failed.
    """
    words = [text.encode() if text else None for text in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None) < 0:
        raise WallError(f"mount {target}: {os.strerror(ctypes.get_errno())}")
