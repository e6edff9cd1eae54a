# attack: takes a disk's room behind the end of a file, of which its size tells nothing
# earns: 4
# promised from: landlock
import ctypes
import os
import tempfile

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
KEEP_SIZE = 1


def double(x):
    with tempfile.TemporaryFile() as file:
        libc.fallocate(file.fileno(), KEEP_SIZE, 0, 300 << 20)
        taken = os.fstat(file.fileno()).st_blocks * 512
    return 2 * x if taken <= 64 << 20 else x
