# problem: uses `scaled_dot_product_attention`
import torch.nn as nn


class Kept:
    parts = {"functional": nn.functional}


def double(x):
    (part,) = Kept.parts.values()
    q = x.reshape(-1, 1, 1)
    return 2 * part.scaled_dot_product_attention(q, q, q).reshape(-1)
