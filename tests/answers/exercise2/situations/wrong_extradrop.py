# wrong: in training a tenth of the weights is dropped, though this exercise has no dropout (training mode)
# breaks: "The root divides the scores, before the softmax, which runs over the keys: for each query the weights add up to 1."

import math

import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return weights @ v
