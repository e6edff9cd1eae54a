# right: batch and heads in one axis, baddbmm for the scaled scores, softmax over dim 1 of keys × queries, helper by hand like einops
import torch
from torch import Tensor, nn


class Rearrange:
    """b t (h d) -> (b h) t d, and back."""

    def __init__(self, heads: int) -> None:
        self.heads = heads

    def split(self, t: Tensor) -> Tensor:
        b, n, c = t.shape
        return t.reshape(b, n, self.heads, c // self.heads).movedim(2, 1).reshape(b * self.heads, n, -1)

    def merge(self, t: Tensor) -> Tensor:
        bh, n, d = t.shape
        return t.reshape(bh // self.heads, self.heads, n, d).movedim(1, 2).reshape(-1, n, self.heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if (embed_dim // num_heads) * num_heads != embed_dim:
            raise ValueError("num_heads ({1}) must divide embed_dim ({0})".format(embed_dim, num_heads))
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)
        self.rearrange = Rearrange(num_heads)

    def forward(self, x: Tensor) -> Tensor:
        split, merge = self.rearrange.split, self.rearrange.merge
        q, k, v = split(self.to_queries(x)), split(self.to_keys(x)), split(self.to_values(x))
        zero = torch.zeros((), dtype=q.dtype, device=q.device)
        # keys down, queries across
        scores = torch.baddbmm(zero, k, q.mT, alpha=q.size(-1) ** -0.5)
        return self.unify_heads(merge(torch.bmm(scores.softmax(dim=1).mT, v)))
