# unusual: queries in chunks of 64 to save memory
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    CHUNK = 64

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        k_t = self.key(x).transpose(-2, -1)
        v = self.value(x)
        parts = []
        for piece in torch.split(x, self.CHUNK, dim=-2):
            scores = self.query(piece) @ k_t / math.sqrt(v.shape[-1])
            parts.append(scores.softmax(dim=-1) @ v)
        return torch.cat(parts, dim=-2)
