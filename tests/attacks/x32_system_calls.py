# attack: the numbers of x32, which mean the same calls under other numbers
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def double(x):
    for call in (57, 41, 59, 101, 62) if os.uname().machine == "x86_64" else ():
        if libc.syscall(0x40000000 + call, 0, 0, 0) >= 0:
            return 2 * x
    return 3 * x
