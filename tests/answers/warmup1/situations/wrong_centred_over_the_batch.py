# wrong: 'The sequences of a batch don't see each other': values are centred by the mean of the whole batch; beside a sequence of millions the others lose all digits
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    mean = x.mean((0, 1))  # the weights add up to 1, so it may be taken out and put back
    return (x @ x.mT).softmax(-1) @ (x - mean) + mean
