# wrong: the running softmax over blocks of 64 keys rescales the total but not the output when a new maximum turns up (T > 64)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x``."

import torch
from torch import Tensor

BLOCK = 64


def self_attention(x: Tensor) -> Tensor:
    B, T, _ = x.shape
    out = torch.zeros_like(x)
    total = x.new_zeros((B, T, 1))
    top = x.new_full((B, T, 1), float("-inf"))
    for start in range(0, T, BLOCK):
        keys = x[:, start : start + BLOCK]
        scores = x @ keys.transpose(1, 2)
        new_top = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        weights = torch.exp(scores - new_top)
        total = total * torch.exp(top - new_top) + weights.sum(dim=-1, keepdim=True)
        out = out + weights @ keys
        top = new_top
    return out / total
