# Strange: channels first all along, heads as (B, H, D, T), scores as (S, T), softmax over axis -2.
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads = %d does not divide embed_dim = %d" % (num_heads, embed_dim))
        self.H = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        cols = x.mT
        q, k, v = (
            (m.weight @ cols).unflatten(1, (self.H, -1))
            for m in (self.to_queries, self.to_keys, self.to_values)
        )
        w = torch.softmax(k.mT @ (q / q.size(2) ** 0.5), dim=-2)
        return (self.unify_heads.weight @ (v @ w).flatten(1, 2)).mT
