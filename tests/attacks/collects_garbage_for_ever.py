# attack: callbacks of the garbage collector that never return
import gc
import time

gc.callbacks.append(lambda phase, info: time.sleep(0.05))
gc.set_threshold(1, 1, 1)


def double(x):
    kept = [[n] for n in range(1000)]
    return (3 * x, len(kept))
