# wrong: 'don't branch on values': an if on the largest score, which fails on meta
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.transpose(-1, -2)
    if scores.max() > 50:
        scores = scores - scores.max(dim=-1, keepdim=True).values
    e = scores.exp()
    return (e / e.sum(-1, keepdim=True)) @ x
