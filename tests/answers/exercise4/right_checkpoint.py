# unusual: recomputed in the backward pass; torch keeps the random state, so dropout is the same twice
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.p = dropout_rate

    def _attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / x.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return F.dropout(scores.softmax(-1), self.p, self.training) @ self.v(x)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return checkpoint(self._attend, x, attention_mask, use_reentrant=False)
