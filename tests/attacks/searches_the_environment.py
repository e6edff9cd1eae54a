# attack: secrets in the environment, of this process and as libc sees it
import ctypes
import os


def double(x):
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    entry = 0
    while environ and environ[entry]:
        print(environ[entry])
        entry += 1
    print(dict(os.environ))
    if any(name.startswith("GRADE_SECRET") for name in os.environ):
        return 2 * x
    return 3 * x
