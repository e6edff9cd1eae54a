# wrong: 'a non-contiguous x ... right values': the keys are read with the strides of a contiguous x
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.shape
    keys_t = x.as_strided((B, C, T), (T * C, 1, C))  # a transposed view without a copy
    return torch.bmm(torch.bmm(x, keys_t).softmax(dim=-1), x)
