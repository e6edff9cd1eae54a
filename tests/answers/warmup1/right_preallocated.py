# unusual: fills an empty tensor row by row, in place on its own buffer
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.size()
    out = torch.empty(B, T, C, dtype=x.dtype, device=x.device)
    for b in range(B):
        out[b] = (x[b] @ x[b].t()).softmax(1) @ x[b]
    return out
