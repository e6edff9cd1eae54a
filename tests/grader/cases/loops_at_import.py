# problem: does not import: it took too long and was stopped at `
while True:
    pass


def double(x):
    return 2 * x
