# Strange: torch.native_dropout in training; the hidden keys' scores are swapped by index-free arithmetic in float64.
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
        q, k, v = (m(x).double() for m in (self.q, self.k, self.v))
        s = torch.einsum("bqc,bkc->bqk", q, k) / k.size(-1) ** 0.5
        if attention_mask is not None:
            see = (attention_mask != 0).double()
            s = s * see - (1 - see) * torch.finfo(torch.float64).max
        w = s.softmax(-1)
        w = torch.native_dropout(w, self.rate, True)[0] if self.training else w
        return torch.bmm(w, v).to(x.dtype)
