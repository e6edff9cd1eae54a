# attack: libc's own functions, found by dlopen, instead of Python's
# promised from: landlock
import ctypes

libc = ctypes.CDLL("libc.so.6", use_errno=True)


def double(x):
    handle = libc.open(TARGETS["solution"].encode(), 0)
    buffer = ctypes.create_string_buffer(64)
    if handle >= 0 and libc.read(handle, buffer, 64) > 0:
        print(buffer.value)
    libc.system(b"cat " + TARGETS["solution"].encode())
    return 3 * x
