# attack: a process that is always somebody else: each forks its heir and ends
import os
import time

END = time.monotonic() + 15


def double(x):
    try:
        if os.fork() == 0:
            os.setsid()
            while time.monotonic() < END:
                if os.fork():
                    os._exit(0)
            os._exit(0)
    except OSError as error:
        print(error)
    return 3 * x
