# attack: double fork, setsid, and a child that ignores every signal
import os
import signal
import time


def double(x):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in range(1, 64):
                    try:
                        signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError):
                        continue
                time.sleep(60)
            os._exit(0)
    except OSError as error:
        print(error)
    return 3 * x
