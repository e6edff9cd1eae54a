# right: einsum everywhere, the norm by torch.var_mean
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) is not divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        h, d = self.num_heads, self.head_dim

        q, k, v = (torch.einsum("btc,hdc->bhtd", x, f.weight.unflatten(0, (h, d))) for f in (self.to_queries, self.to_keys, self.to_values))
        w = (torch.einsum("bhid,bhjd->bhij", q, k) / d**0.5).softmax(-1)
        return torch.einsum("bhij,bhjd,ehd->bie", w, v, self.unify_heads.weight.unflatten(1, (h, d)))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self._norm(self.norm1, x + self.attention(x))
        a, b = self.ff[0], self.ff[2]
        y = torch.relu(torch.einsum("btc,fc->btf", x, a.weight) + a.bias)
        return self._norm(self.norm2, x + torch.einsum("btf,cf->btc", y, b.weight) + b.bias)

    @staticmethod
    def _norm(layer, x):
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(y, -1, correction=0, keepdim=True)
        return ((y - mean) / torch.sqrt(var + layer.eps)).to(x.dtype) * layer.weight + layer.bias
