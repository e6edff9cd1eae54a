# unusual: scores as (B, keys, queries); the mask gets three axes by hand before it is transposed
import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        scores = self.k(x) @ self.q(x).transpose(1, 2) * x.shape[-1] ** -0.5
        if attention_mask is not None:
            mask = attention_mask
            while mask.ndim < 3:
                mask = mask[None]
            scores = scores.masked_fill(mask.transpose(1, 2) == 0, float("-inf"))
        weights = scores.softmax(dim=-2).transpose(-2, -1)
        return nn.functional.dropout(weights, self.rate, self.training) @ self.v(x)
