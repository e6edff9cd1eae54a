# problem: does not import
def double(x):
    return x * 2


BIG = (1,)*10**6 * 10**4 * 10**4
