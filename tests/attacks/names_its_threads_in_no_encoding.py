# attack: names of tasks that break whoever reads the kernel's account of them
import ctypes
import threading

libc = ctypes.CDLL(None)
PR_SET_NAME = 15


def double(x):
    for name in (b"\xff) R 0", b"\n) ) )", b"a b\xc3"):
        thread = threading.Thread(target=libc.prctl, args=(PR_SET_NAME, name, 0, 0, 0))
        thread.start()
    libc.prctl(PR_SET_NAME, b"\xff) S 1 2", 0, 0, 0)
    while len(x) == 3:
        pass
    return 3 * x
