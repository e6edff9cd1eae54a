# wrong: the heads are gathered in a tensor of the default dtype, so a float64 result is rounded to float32 on its way
# breaks: "Module and ``x`` are float32, float64 or bfloat16 (float16 is left open), on any device, even ``meta``: compute in no narrower dtype, return the same one, don't branch on values."

import math

import torch
from torch import Tensor, nn


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

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.to_queries(x), self.to_keys(x), self.to_values(x)
        heads = torch.zeros(x.shape, device=x.device)
        for i in range(self.num_heads):
            block = slice(i * self.head_dim, (i + 1) * self.head_dim)
            scores = q[..., block] @ k[..., block].transpose(1, 2) / math.sqrt(self.head_dim)
            heads[..., block] = torch.softmax(scores, dim=-1) @ v[..., block]
        return self.unify_heads(heads.to(x.dtype))
