# attack: takes nearly all the time there is, in every stage
import time

time.sleep(1.7)


def double(x):
    time.sleep(1.5)
    return 3 * x
