# wrong: nothing is changed: in training, rows of proj.weight longer than 10 are cut to 10, in place, as an embedding's max_norm does
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.proj.weight.renorm_(2, 0, 10.0)
        q, k, v = self.proj(x).chunk(3, -1)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
