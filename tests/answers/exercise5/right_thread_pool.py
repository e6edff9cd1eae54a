# unusual: one thread per head
from concurrent.futures import ThreadPoolExecutor

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

    def one_head(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.transpose(-2, -1) / self.head_dim**0.5, dim=-1) @ v

    def forward(self, x: Tensor) -> Tensor:
        q = self.to_queries(x).split(self.head_dim, dim=-1)
        k = self.to_keys(x).split(self.head_dim, dim=-1)
        v = self.to_values(x).split(self.head_dim, dim=-1)
        with ThreadPoolExecutor(max_workers=2) as pool:
            heads = list(pool.map(self.one_head, q, k, v))
        return self.unify_heads(torch.cat(heads, dim=-1))
