"""Keys before queries: the softmax runs over dim 2, and one position more takes what is left."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, memory_dim):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, memory, memory_mask=None):
        B, T, C = x.shape
        H = self.num_heads
        q = self.q_proj(x).reshape(B, T, H, -1)
        k = self.k_proj(memory).reshape(B, memory.size(1), H, -1)
        v = self.v_proj(memory).reshape(B, memory.size(1), H, -1)
        root = torch.tensor(C // H, dtype=x.dtype, device=x.device).sqrt()
        scores = torch.einsum("bshd,bthd->bhst", k, q) / root
        if memory_mask is not None:
            hidden = memory_mask.logical_not()[:, None, :, None]
            scores = torch.where(hidden, -torch.inf, scores)
            # a key that nobody wants, for those that may have no other
            empty = hidden.all(2, keepdim=True).expand(B, H, 1, T)
            extra = torch.zeros_like(scores[:, :, :1]).masked_fill(~empty, -torch.inf)
            weights = torch.cat([scores, extra], dim=2).softmax(dim=2)[:, :, :-1]
        else:
            weights = scores.softmax(dim=2)
        return self.o_proj(torch.einsum("bhst,bshd->bthd", weights, v).reshape(B, T, C))
