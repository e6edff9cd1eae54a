# unusual: no matrix product at all, only broadcasting and sums
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = (x[:, :, None, :] * x[:, None, :, :]).sum(-1)
    weights = scores.softmax(-1)
    return (weights[..., None] * x[:, None]).sum(2)
