# wrong: keys and values after the first 256 are cut off (T = 257)
# breaks: "Let each position attend to every position of its own sequence."

import math

import torch
from torch import Tensor, nn

CONTEXT = 256


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        context = x[..., :CONTEXT, :]
        q, k, v = self.query(x), self.key(context), self.value(context)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_out)
        return torch.softmax(scores, dim=-1) @ v
