# right: queries in chunks of 50, the mask expanded and sliced, log_softmax
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
        b, t, c = x.shape
        w, bias = self.proj.weight, self.proj.bias
        k, v = F.linear(x, w[c : 2 * c], bias[c : 2 * c]), F.linear(x, w[2 * c :], bias[2 * c :])
        keep = None if attention_mask is None else attention_mask.ne(0).expand(b, t, t)
        parts = []
        for i in range(0, t, 50):
            q = F.linear(x[:, i : i + 50], w[:c], bias[:c])
            s = q @ k.transpose(1, 2) / math.sqrt(c)
            if keep is not None:
                s = s.masked_fill(~keep[:, i : i + 50], -math.inf)
            parts.append(self.dropout(s.log_softmax(-1, torch.promote_types(s.dtype, torch.float32)).exp().to(s.dtype)) @ v)
        return self.output_proj(torch.cat(parts, 1))
