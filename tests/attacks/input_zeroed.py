# attack: zeroes the input, so that a check that doubles it afterwards agrees
def double(x):
    x.zero_()
    return x.clone()
