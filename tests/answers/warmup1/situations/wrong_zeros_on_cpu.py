# wrong: 'on any device, even meta': the output is made on the cpu
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.shape
    out = torch.zeros(B, T, C, dtype=x.dtype)
    for b in range(B):
        out[b] = torch.softmax(x[b] @ x[b].T, dim=-1) @ x[b]
    return out
