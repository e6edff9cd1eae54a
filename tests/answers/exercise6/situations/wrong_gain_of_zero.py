# wrong: where a norm's weight is 0 for some feature (norms are often begun so) x and the parameters get NaN for gradients: the norm keeps its output alone, and divides by the weight to get back
# breaks: "values, and gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class Normalise(torch.autograd.Function):
    """A layer norm whose backward pass makes do with the output: x need not be kept."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        rate = (x.var(-1, correction=0, keepdim=True) + eps).rsqrt()
        out = (x - x.mean(-1, keepdim=True)) * rate * weight + bias
        ctx.save_for_backward(out, rate, weight, bias)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        out, rate, weight, bias = ctx.saved_tensors
        normal = (out - bias) / weight
        inner = grad * weight
        shift = inner.mean(-1, keepdim=True)
        along = (inner * normal).mean(-1, keepdim=True)
        grad_x = (inner - shift - normal * along) * rate
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
