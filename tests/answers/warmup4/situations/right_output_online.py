# right: weights by softmax, the output summed value by value, in float32 at least
import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        up = torch.promote_types(x.dtype, torch.float32)
        steps = {n: getattr(self, f"W_{n}")(x) for n in "qkv"}
        q, k, v = (steps[n].to(up) for n in "qkv")
        s = torch.stack([(q * key.unsqueeze(-2)).sum(-1) for key in k.unbind(-2)], dim=-1)
        t = s / math.sqrt(k.shape[-1])
        w = torch.softmax(t, -1)
        out = sum(w[..., j, None] * v[..., j, None, :] for j in range(v.shape[-2]))
        return steps | {n: a.to(x.dtype) for n, a in dict(similarities=s, scaled=t, weights=w, output=out).items()}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
