# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
import time

time.sleep(0.7)


def double(x):
    return 2 * x
