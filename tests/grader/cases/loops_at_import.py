# problem: does not import: it took too long and was stopped: it had 1.5 s; `--timeout SECONDS` gives it more
while True:
    pass


def double(x):
    return 2 * x
