# wrong: where a norm's weight is frozen and its bias learns, the bias gets no gradient: the norm's own backward makes both or none
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class Normalise(torch.autograd.Function):
    """A layer norm that keeps no more for the backward pass than it needs."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        rate = (x.var(-1, correction=0, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, mean, rate, weight)
        return (x - mean) * rate * weight + bias

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, mean, rate, weight = ctx.saved_tensors
        normal = (x - mean) * rate
        inner = grad * weight
        shift = inner.mean(-1, keepdim=True)
        along = (inner * normal).mean(-1, keepdim=True)
        grad_x = (inner - shift - normal * along) * rate
        if not ctx.needs_input_grad[1]:  # the norm is frozen
            return grad_x, None, None, None
        return grad_x, (grad * normal).sum((0, 1)), grad.sum((0, 1)), None


class Norm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return Normalise.apply(x, self.weight, self.bias, self.eps)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        layers = self.to_queries, self.to_keys, self.to_values
        q, k, v = (one(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for one in layers)
        weights = (q @ k.mT / sqrt(q.size(-1))).softmax(dim=-1)
        return self.unify_heads((weights @ v).transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = Norm(embed_dim)
        self.norm2 = Norm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))
