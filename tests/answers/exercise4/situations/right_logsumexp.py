# right: log weights, dropout as a where on the weights
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        s = (q @ k.mT).to(torch.promote_types(x.dtype, torch.float32)) * (1 / math.sqrt(self.hidden_dim))
        if attention_mask is not None:
            s = s.masked_fill(attention_mask == 0, -math.inf)
        s = s - s.detach().amax(-1, keepdim=True)
        w = torch.exp(s - torch.logsumexp(s, -1, keepdim=True)).to(x.dtype)
        if self.training:
            gone = torch.rand(w.shape, device=w.device, dtype=torch.float64) < self.dropout_rate
            w = torch.where(gone, 0.0, w / (1 - self.dropout_rate))
        return w @ v
