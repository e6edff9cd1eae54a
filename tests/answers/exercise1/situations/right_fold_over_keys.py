# right: functools.reduce with an online softmax as the accumulator
import functools
import math

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        up = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (m(x).to(up) for m in (self.q, self.k, self.v))
        q = q / math.sqrt(self.hidden_dim)

        def step(acc, kv):
            peak, total, out = acc
            key, value = (t.unsqueeze(1) for t in kv)
            s = (q * key).sum(-1, keepdim=True)
            new = torch.maximum(peak, s.detach())
            old, now = torch.exp(peak - new), torch.exp(s - new)
            return new, total * old + now, out * old + now * value

        start = torch.full_like(q[..., :1], -torch.inf), torch.zeros_like(q[..., :1]), torch.zeros_like(q)
        _, total, out = functools.reduce(step, zip(k.unbind(1), v.unbind(1)), start)
        return (out / total).to(x.dtype)
