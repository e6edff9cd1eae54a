# unusual: a loop over heads with slices, then cat
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
        queries, keys, values = self.to_queries(x), self.to_keys(x), self.to_values(x)
        heads = []
        for h in range(self.num_heads):
            mine = slice(h * self.head_dim, (h + 1) * self.head_dim)
            q, k, v = queries[..., mine], keys[..., mine], values[..., mine]
            weights = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim**0.5, dim=-1)
            heads.append(weights @ v)
        return self.unify_heads(torch.cat(heads, dim=-1))
