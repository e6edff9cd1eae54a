# test_three_numbers: fail: got `ndarray`
def double(x):
    return (2 * x).numpy()
