# attack: resizes the input to nothing, so that there is nothing to compare
def double(x):
    x.resize_(0)
    x.data = x.new_empty(0)
    return x
