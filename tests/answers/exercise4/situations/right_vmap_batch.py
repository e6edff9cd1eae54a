# right: one sequence at a time under vmap(randomness="different"), F.dropout inside
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def _one(self, x: Tensor, seen: Tensor) -> Tensor:
        scores = self.q(x) @ self.k(x).T / x.size(1) ** 0.5
        weights = F.softmax(scores.masked_fill(seen.logical_not(), float("-inf")), dim=1)
        return F.dropout(weights, p=self.dropout_rate, training=self.training) @ self.v(x)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, _ = x.shape
        if attention_mask is None:
            attention_mask = x.new_ones(T)
        seen = attention_mask.to(torch.bool).expand(B, T, T)
        return torch.func.vmap(self._one, randomness="different")(x, seen)
