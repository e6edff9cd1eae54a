# test_three_numbers: fail: expected shape (T,) = (3,), got (1, 3)
def double(x):
    return 2 * x[None]
