# unusual: einsum, mask as torch.where with a full -inf tensor
import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.drop = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        s = torch.einsum("btc,bsc->bts", self.q(x), self.k(x)) / x.size(-1) ** 0.5
        if attention_mask is not None:
            s = torch.where(attention_mask.bool(), s, torch.full_like(s, -torch.inf))
        return torch.einsum("bts,bsc->btc", self.drop(s.softmax(2)), self.v(x))
