# wrong: above T = 128 queries go in blocks of 128, and every block drops the same weights: the random numbers are drawn once for a block
# breaks: "Chance of each weight to be dropped, 0 <= rate < 1: after the softmax, in training only, and with the rest scaled by 1/(1 - rate), as ``nn.Dropout`` does"
from math import sqrt

import torch
from torch import Tensor, nn

BLOCK = 128  # queries


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        drops = self.training and self.dropout_rate > 0
        if drops:
            noise = torch.rand(B, min(T, BLOCK), T, device=x.device)
            factors = (noise >= self.dropout_rate).to(x.dtype) / (1 - self.dropout_rate)
        hidden = None
        if attention_mask is not None:
            hidden = (attention_mask == 0).expand(B, T, T)
        blocks = []
        for start in range(0, T, BLOCK):
            some = q[:, start : start + BLOCK]
            scores = some @ k.mT / sqrt(C)
            if hidden is not None:
                scores = scores.masked_fill(hidden[:, start : start + BLOCK], float("-inf"))
            weights = scores.softmax(dim=-1)
            if drops:
                weights = weights * factors[:, : weights.size(1)]
            blocks.append(weights @ v)
        return torch.cat(blocks, dim=1)
