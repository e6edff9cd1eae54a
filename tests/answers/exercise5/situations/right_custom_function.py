# right: an autograd.Function for softmax(q k^T r) v with its right backward
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _Heads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, r):
        w = (q @ k.mT).mul_(r).softmax(-1)
        ctx.save_for_backward(q, k, v, w)
        ctx.r = r
        return w @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, w = ctx.saved_tensors
        gw = g @ v.mT
        gs = (gw - (gw * w).sum(-1, keepdim=True)) * w * ctx.r
        return gs @ k, gs.mT @ q, w.mT @ g, None


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")

        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (torch.stack(f(x).chunk(self.num_heads, -1)) for f in (self.to_queries, self.to_keys, self.to_values))
        return self.unify_heads(torch.cat(_Heads.apply(q, k, v, self.head_dim**-0.5).unbind(0), -1))
