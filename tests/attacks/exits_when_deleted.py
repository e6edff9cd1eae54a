# attack: an answer whose deletion ends the process with status 0
import os


class Last:
    def __del__(self):
        os._exit(0)


def double(x):
    return [Last(), 3 * x]
