# wrong: the transposed view is made with the strides of a contiguous tensor (a non-contiguous x: transposed, sliced, expanded)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x``."

import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.shape
    keys = x.as_strided((B, C, T), (T * C, 1, C))  # (B, C, T) without a copy
    weights = torch.softmax(torch.bmm(x, keys), dim=-1)
    return torch.bmm(weights, x)
