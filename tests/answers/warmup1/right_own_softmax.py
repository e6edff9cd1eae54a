# unusual: softmax written out with exp, minus the row's maximum
import torch
from torch import Tensor


def stable_softmax(scores: Tensor) -> Tensor:
    highest, _ = scores.max(dim=-1, keepdim=True)
    e = torch.exp(scores - highest)
    return e / e.sum(dim=-1, keepdim=True)


def self_attention(x: Tensor) -> Tensor:
    return stable_softmax(torch.matmul(x, x.transpose(1, 2))).matmul(x)
