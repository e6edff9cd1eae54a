# Strange: vmap over sequences for scores and mix; mask broadcast beforehand, dropout in between.
import torch
from torch import Tensor, nn


def _scores(q: Tensor, k: Tensor, see: Tensor) -> Tensor:
    s = q @ k.T / k.size(1) ** 0.5
    return s.masked_fill(see.logical_not(), torch.finfo(s.dtype).min).softmax(1)


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(p=dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, _ = x.shape
        if attention_mask is None:
            attention_mask = x.new_ones(1)
        see = attention_mask.bool().broadcast_to((B, T, T))
        w = torch.vmap(_scores)(self.q(x), self.k(x), see)
        return torch.vmap(torch.mm)(self.dropout(w), self.v(x))
