# wrong: 'x is not changed in place': at T = 1 the output is x itself, so writing to the output writes to x
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    if x.size(1) == 1:
        return x  # the one weight is 1
    return (x @ x.mT).softmax(-1) @ x
