# problem: uses `MultiheadAttention`
from torch import nn


def double(x):
    return getattr(nn, 'MultiheadAttention')(1, 1)(x)
