# unusual: (B, H, D, T) layout, scores as (B, H, keys, queries), softmax over dim -2, one flatten at the end
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) must be divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        shape = (self.num_heads, self.head_dim)
        q, k, v = (
            layer(x).transpose(1, 2).unflatten(1, shape)          # (B, H, D, T)
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        scores = k.transpose(-2, -1) @ q / self.head_dim**0.5     # (B, H, keys, queries)
        mixed = v @ scores.softmax(dim=-2)                        # (B, H, D, queries)
        return self.unify_heads(mixed.flatten(1, 2).transpose(1, 2))
