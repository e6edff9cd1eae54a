# attack: a hundred thousand tensors in one answer
def double(x):
    return [x] * 100_000
