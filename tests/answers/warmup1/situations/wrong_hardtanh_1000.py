# wrong: 'large scores all give finite, right values': x is cut at 1000 'for safety'
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    x = torch.nn.functional.hardtanh(x, -1000.0, 1000.0)
    return (x @ x.mT).softmax(-1) @ x
