# attack: five hundred threads, which wait
import threading
import time


def double(x):
    threading.stack_size(64 << 10)
    started = 0
    try:
        while started < 500:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            started += 1
    except (RuntimeError, MemoryError) as error:
        print(started, error)
    return 3 * x
