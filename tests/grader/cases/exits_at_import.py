# problem: does not import: it ended its process with exit status 5
import os

os._exit(5)


def double(x):
    return 2 * x
