# problem: defines no function `double`; it has `twice`
def twice(x):
    return 2 * x
