# attack: dies of a different signal in each check
import os
import signal


def double(x):
    number = {3: signal.SIGKILL, 5: signal.SIGSYS, 7: signal.SIGXCPU}[len(x)]
    os.kill(os.getpid(), number)
    return 3 * x
