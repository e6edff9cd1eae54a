# wrong: a float mask whose numbers for visible keys are smaller than the smallest normal float (1e-40) hides those keys
# breaks: "Bool, int or float, any number; nonzero numbers all mean the same"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            wide = torch.promote_types(attention_mask.dtype, torch.float32)
            numbers = attention_mask.to(wide).abs()
            hidden = numbers < torch.finfo(wide).tiny  # floats are not compared with ==
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return self.output_proj(weights @ v)
