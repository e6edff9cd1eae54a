# wrong: one maximum for the whole batch is subtracted, so rows with far smaller scores underflow to 0/0 (large scores next to small ones)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x``."

import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.transpose(-2, -1)
    # subtract the maximum, so that exp can't overflow
    weights = torch.exp(scores - scores.max())
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ x
