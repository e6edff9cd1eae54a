# unusual: heads folded into the batch, bmm, and scale split between q and k (fourth root)
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

    def fold(self, t: Tensor) -> Tensor:
        B, T, _ = t.shape
        t = t.reshape(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        return t.contiguous().view(B * self.num_heads, T, self.head_dim)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        queries = self.fold(self.to_queries(x)) / self.head_dim ** (1 / 4)
        keys = self.fold(self.to_keys(x)) / self.head_dim ** (1 / 4)
        values = self.fold(self.to_values(x))
        dot = torch.bmm(queries, keys.transpose(1, 2))
        dot = nn.functional.softmax(dot, dim=2)
        out = torch.bmm(dot, values).view(B, self.num_heads, T, self.head_dim)
        out = out.transpose(1, 2).contiguous().view(B, T, C)
        return self.unify_heads(out)
