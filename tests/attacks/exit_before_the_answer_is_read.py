# attack: the process ends between its answer and the next request
import os
import signal
import time


def double(x):
    if os.getpid() == 1:
        os._exit(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    time.sleep(0.0005)
    return 3 * x
