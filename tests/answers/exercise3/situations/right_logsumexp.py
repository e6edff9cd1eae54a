# right: exp(score - logsumexp), hidden keys at -inf by adding 0 or -inf
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).tensor_split(3, -1)
        s = (q @ k.mT).to(torch.promote_types(x.dtype, torch.float32)) / math.sqrt(self.hidden_dim)
        if attention_mask is not None:
            s = s + torch.zeros_like(attention_mask, dtype=s.dtype).masked_fill(attention_mask == 0, -math.inf)
        s = s - s.detach().amax(-1, keepdim=True)
        w = (s - s.logsumexp(-1, keepdim=True)).exp().to(x.dtype)
        return self.output_proj(self.dropout(w) @ v)
