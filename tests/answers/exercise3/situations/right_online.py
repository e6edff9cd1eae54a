# right: online softmax over blocks of 40 keys, dropout on the numerators only
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.proj(x).chunk(3, -1)
        keep = torch.ones((), dtype=torch.bool, device=x.device) if attention_mask is None else attention_mask != 0
        keep = keep.expand(b, t, t)
        low = torch.finfo(x.dtype).min
        top = x.new_full((b, t, 1), low)
        total = x.new_zeros((b, t, 1))
        acc = x.new_zeros((b, t, c))
        for i in range(0, t, 40):
            m = keep[:, :, i : i + 40]
            s = (q @ k[:, i : i + 40].mT / math.sqrt(c)).masked_fill(~m, low)
            new = torch.maximum(top, s.detach().amax(-1, keepdim=True))
            e = (s - new).exp() * m
            f = (top - new).exp()
            acc = acc * f + F.dropout(e, self.dropout_rate, self.training) @ v[:, i : i + 40]
            total = total * f + e.sum(-1, keepdim=True)
            top = new
        return self.output_proj(acc / total)
