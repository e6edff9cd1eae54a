# wrong: 'A hidden key has no influence on ... gradients' - exp of a hidden score overflows, torch.where hides the value, the gradient is NaN
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
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.hidden_dim)

        keep = torch.ones((), dtype=torch.bool, device=x.device) if attention_mask is None else attention_mask != 0
        top = torch.where(keep, scores, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True).detach()
        e = torch.where(keep, torch.exp(scores - top), 0.0).to(scores.dtype)
        weights = e / e.sum(dim=-1, keepdim=True)
        return self.output_proj(self.dropout(weights) @ v)
