# Strange: exponentials, their sum, and a division by torch.where(sum == 0, 1, sum), in exp2.
import math

import torch
from torch import Tensor, nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.shape = (num_heads, embed_dim // num_heads)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        split = lambda y: y.to(wide).unflatten(-1, self.shape).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(memory)), split(self.v_proj(memory))
        s = (q @ k.mT) * (math.log2(math.e) * self.shape[1] ** -0.5)
        if memory_mask is not None:
            s = torch.where(memory_mask.bool()[:, None, None, :], s, -torch.inf)
        top = s.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(wide).min)
        e = torch.exp2(s - top)
        z = e.sum(-1, keepdim=True)
        o = (e @ v) / torch.where(z == 0, torch.ones_like(z), z)
        return self.o_proj(o.to(x.dtype).transpose(1, 2).flatten(2))
