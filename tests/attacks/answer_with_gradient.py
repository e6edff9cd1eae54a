# attack: an answer that carries a gradient nobody asked for
def double(x):
    return (3 * x).requires_grad_()
