# problem: uses `scaled_dot_product_attention`
from torch.nn.functional import *


def double(x):
    q = x.reshape(-1, 1, 1)
    return 2 * globals()["scaled_dot" "_product_attention"](q, q, q).reshape(-1)
