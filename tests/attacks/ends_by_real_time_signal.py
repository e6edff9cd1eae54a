# attack: dies of a signal that has no name
import os


def double(x):
    os.kill(os.getpid(), 40 if len(x) == 3 else 63)
    return 3 * x
