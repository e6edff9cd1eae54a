# wrong: 'softmax ... any T from 1 to 257' - above T = 128 the running sum is not rescaled to the new maximum
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        q = q / math.sqrt(self.hidden_dim)
        top = total = out = None
        for kb, vb in zip(k.split(128, dim=1), v.split(128, dim=1)):
            s = q @ kb.transpose(1, 2)
            m = s.amax(dim=-1, keepdim=True)
            if top is None:
                e = (s - m).exp()
                top, total, out = m, e.sum(-1, keepdim=True), e @ vb
            else:
                new = torch.maximum(top, m)
                e = (s - new).exp()
                out = out * (top - new).exp() + e @ vb
                total = total + e.sum(-1, keepdim=True)
                top = new
        return out / total
