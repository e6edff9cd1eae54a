# unusual: forward uses the parameters through functions, relu as clamp, layers never called
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def heads_of(t: Tensor, H: int) -> Tensor:
    return t.unflatten(-1, (H, -1)).movedim(-2, -3)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(embed_dim, num_heads)
        self.num_heads = num_heads
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            heads_of(x @ layer.weight.T, self.num_heads)
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        w = F.softmax(torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5, dim=-1)
        mixed = torch.einsum("bhij,bhjd->bihd", w, v).flatten(-2)
        return mixed @ self.unify_heads.weight.T


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.ff = nn.Sequential(nn.Linear(embed_dim, 4 * embed_dim), nn.ReLU(), nn.Linear(4 * embed_dim, embed_dim))
        self.norm2 = nn.LayerNorm(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        size = x.shape[-1:]
        x = F.layer_norm(x + self.attention(x), size, self.norm1.weight, self.norm1.bias, self.norm1.eps)
        hidden = F.linear(x, self.ff[0].weight, self.ff[0].bias).clamp(min=0)
        x = x + F.linear(hidden, self.ff[2].weight, self.ff[2].bias)
        return F.layer_norm(x, size, self.norm2.weight, self.norm2.bias, self.norm2.eps)
