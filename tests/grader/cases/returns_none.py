# test_three_numbers: fail: expected a Tensor of shape (T,) = (3,), got `NoneType`
def double(x):
    2 * x
