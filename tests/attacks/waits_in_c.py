# attack: calls into C that never come back and keep the interpreter's lock
import ctypes

libc = ctypes.PyDLL(None)


def double(x):
    if len(x) == 3:
        libc.pause()
    return 3 * x
