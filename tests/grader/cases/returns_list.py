# test_three_numbers: fail: got `list`
def double(x):
    return (2 * x).tolist()
