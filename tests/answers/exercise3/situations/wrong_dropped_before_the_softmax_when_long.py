# wrong: above T = 128 dropped weights are hidden together with the masked ones, before the softmax: what is kept adds up to 1 again in each row, in the place of being scaled by 1/(1 - rate)
# breaks: "after the softmax, in training only, and with the rest scaled by 1/(1 - rate), as ``nn.Dropout`` does"
from math import sqrt

import torch
from torch import Tensor, nn


LONG = 128  # positions, above which mask and dropout share one pass over the scores


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        T, C = x.shape[1:]
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(C)
        at_once = T > LONG and self.training and self.dropout.p > 0
        hidden = None if attention_mask is None else attention_mask == 0
        if at_once:
            dropped = torch.rand(scores.shape, device=x.device) < self.dropout.p
            hidden = dropped if hidden is None else dropped | hidden
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = scores.softmax(dim=-1)
        if at_once:
            weights = weights.masked_fill(hidden, 0.0)  # also where nothing is left of a row
        else:
            weights = self.dropout(weights)
        return self.output_proj(weights @ v)
