# Strange: a subclass of nn.LayerNorm with var_mean by hand in a wide dtype; the block is a fold over two sublayers.
from functools import reduce

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"cannot share {embed_dim} features among {num_heads} heads")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.to_queries(x).reshape(B, T, H, D).movedim(2, 1)
        k = self.to_keys(x).reshape(B, T, H, D).movedim(2, 1)
        v = self.to_values(x).reshape(B, T, H, D).movedim(2, 1)
        w = torch.einsum("bhxd,bhyd->bhxy", q, k).div(D**0.5).softmax(-1)
        return self.unify_heads(torch.einsum("bhxy,bhyd->bxhd", w, v).reshape(B, T, C))


class Norm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(wide, dim=-1, correction=0, keepdim=True)
        unit = (wide - mean) * torch.rsqrt(var + self.eps)
        return torch.addcmul(self.bias.to(unit.dtype), unit, self.weight.to(unit.dtype)).to(x.dtype)


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = Norm(embed_dim)
        self.norm2 = Norm(embed_dim)
        self.ff = nn.Sequential(nn.Linear(embed_dim, embed_dim * 4), nn.ReLU(), nn.Linear(embed_dim * 4, embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        steps = ((self.attention, self.norm1), (self.ff, self.norm2))
        return reduce(lambda y, step: step[1](y + step[0](y)), steps, x)
