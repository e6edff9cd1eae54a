# test_three_numbers: fail: 3 of 3 values differ
def double(x):
    return x * float('nan')
