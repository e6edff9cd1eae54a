# wrong: 'gradients reach x' (finite): the root of a zero distance on the diagonal makes them NaN
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    # a.b = (|a|^2 + |b|^2 - |a-b|^2) / 2
    sq = (x * x).sum(-1)
    dist = (x.unsqueeze(2) - x.unsqueeze(1)).pow(2).sum(-1).sqrt()
    dots = (sq.unsqueeze(2) + sq.unsqueeze(1) - dist ** 2) / 2
    return torch.softmax(dots, dim=-1) @ x
