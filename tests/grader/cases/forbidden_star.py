# problem: uses `scaled_dot_product_attention`
from torch.nn.functional import *


def double(x):
    return scaled_dot_product_attention(x, x, x)
