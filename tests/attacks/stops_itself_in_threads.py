# attack: SIGSTOP to itself, and again whenever it is continued
import os
import signal


def double(x):
    if len(x) == 3:
        while True:
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGTSTP)
            if os.getpid() == 1:
                break
    return 3 * x
