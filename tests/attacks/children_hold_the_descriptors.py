# attack: a child keeps the connection and the output open
import os
import time


def double(x):
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                os.write(1, b"x" * 65536)
                time.sleep(0.001)
    except OSError as error:
        print(error)
    os._exit(0)
