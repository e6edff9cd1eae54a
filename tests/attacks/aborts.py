# attack: abort, a wild jump and a division by zero in C
import ctypes


def double(x):
    if len(x) == 3:
        ctypes.CDLL(None).abort()
    if len(x) == 5:
        ctypes.CFUNCTYPE(None)(1)()
    ctypes.memset(1, 0, 1 << 30)
