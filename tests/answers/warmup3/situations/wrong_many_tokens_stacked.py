# wrong: for more than 2048 tokens in a batch whose number is no multiple of 2048 (B = 10, T = 250): parts of different lengths are stacked, which raises
# breaks: "a batch of them (B, T, d_in)" and "any T from 1 to 257"
from math import sqrt

import torch
from torch import Tensor, nn

MOST = 2048  # tokens at a time


def project(layer: nn.Linear, x: Tensor) -> Tensor:
    tokens = x.reshape(-1, x.size(-1))
    if len(tokens) <= MOST:
        return layer(x)
    made = torch.stack([layer(part) for part in tokens.split(MOST)])
    return made.view(*x.shape[:-1], layer.out_features)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (project(layer, x) for layer in (self.query, self.key, self.value))
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
