# attack: sys.exit and os._exit from a thread after the answer
import os
import threading
import time


def later():
    time.sleep(0.05)
    os._exit(0)


def double(x):
    threading.Thread(target=sys.exit, args=(0,)).start()
    threading.Thread(target=later, daemon=True).start()
    return 3 * x
