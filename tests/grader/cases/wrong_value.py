# test_three_numbers: fail: 3 of 3 values differ
# test_five_numbers: fail: 5 of 5 values differ
def double(x):
    return 3 * x
