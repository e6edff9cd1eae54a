# right: torch.func.vmap over the batch with the expanded mask, dropout outside
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
        b, t, _ = x.shape
        keep = x.new_ones(()) if attention_mask is None else attention_mask
        keep = (keep != 0).expand(b, t, t)

        def weigh(seq, see):
            q, k, v = self.proj(seq).chunk(3, -1)
            s = q @ k.T / math.sqrt(self.hidden_dim)
            return torch.where(see, s, -torch.inf).softmax(-1), v

        w, v = torch.func.vmap(weigh)(x, keep)
        return self.output_proj(torch.bmm(self.dropout(w), v))
