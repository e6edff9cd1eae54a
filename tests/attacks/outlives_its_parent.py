# attack: asks the kernel not to end it with its parent, and goes on in a thread
import ctypes
import signal
import threading
import time


def go_on():
    while True:
        time.sleep(0.1)


def double(x):
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    threading.Thread(target=go_on).start()
    return 3 * x
