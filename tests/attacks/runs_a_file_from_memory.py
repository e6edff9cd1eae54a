# attack: a program written to memory or scratch, then run or loaded
import ctypes
import os


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        handle = os.memfd_create("program")
    except OSError:
        handle = os.open("program", os.O_RDWR | os.O_CREAT, 0o700)
    os.write(handle, b"#!/bin/true")
    for path in (f"/proc/self/fd/{handle}", "program"):
        if (
            libc.syscall(322, handle, b"", None, None, 0x1000) == 0
            or libc.execl(path.encode(), b"x", None) == 0
        ):
            return True
    return False
