# problem: does not parse: '(' was never closed
# test_three_numbers: error
def double(x:
    return 2 * x
