# test_three_numbers: error: RecursionError
def double(x):
    a = []
    for _ in range(100000):
        a = [a]
    return a
