# attack: unshare, setns, clone of every namespace
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt():
    if os.uname().machine != "x86_64":
        return False  # the numbers are those of another machine
    for bit in (28, 17, 30, 29, 26, 27, 7, 25):  # CLONE_NEW…
        flag = 1 << bit
        if libc.unshare(flag) == 0 or libc.unshare(flag | 0x10000000) == 0:
            return True
    return libc.setns(3, 0) == 0 or libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) >= 0
