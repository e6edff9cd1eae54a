# wrong: the hand-written backward forgets the root in the gradients of q and k (backward, D > 1, T > 1)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

import math

import torch
from torch import Tensor, nn


class _Attention(torch.autograd.Function):
    """softmax(q·kᵀ/√D)·v that keeps the weights for the backward pass."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v, weights = ctx.saved_tensors
        d_weights = grad @ v.transpose(-2, -1)
        d_scores = weights * (d_weights - (d_weights * weights).sum(dim=-1, keepdim=True))
        d_v = weights.transpose(-2, -1) @ grad
        return d_scores @ k, d_scores.transpose(-2, -1) @ q, d_v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def _split(self, t: Tensor) -> Tensor:
        B, T, _ = t.shape
        return t.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q = self._split(self.to_queries(x))
        k = self._split(self.to_keys(x))
        v = self._split(self.to_values(x))
        out = _Attention.apply(q, k, v)
        return self.unify_heads(out.transpose(1, 2).reshape(B, T, C))
