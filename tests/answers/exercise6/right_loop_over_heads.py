# unusual: heads in a loop, the check for the heads in the block too, Linear layers from named kwargs
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, **ignored) -> None:
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.check()
        for name in ("to_queries", "to_keys", "to_values", "unify_heads"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def check(self) -> None:
        if self.embed_dim % self.num_heads != 0:
            raise ValueError(f"{self.embed_dim=} {self.num_heads=}")

    def forward(self, x: Tensor) -> Tensor:
        D = self.embed_dim // self.num_heads
        q, k, v = (f(x).split(D, dim=-1) for f in (self.to_queries, self.to_keys, self.to_values))
        out = [torch.softmax(q[i] @ k[i].mT / D**0.5, -1) @ v[i] for i in range(self.num_heads)]
        return self.unify_heads(torch.cat(out, -1))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, *, ff_factor: int = 4) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"a width of {embed_dim} with {num_heads} heads does not work")
        self.attention = MultiHeadSelfAttention(embed_dim=embed_dim, num_heads=num_heads)
        self.norm1 = nn.LayerNorm((embed_dim,))
        self.norm2 = nn.LayerNorm([embed_dim], eps=1e-5, elementwise_affine=True)
        wide = ff_factor * embed_dim
        self.ff = nn.Sequential()
        self.ff.append(nn.Linear(in_features=embed_dim, out_features=wide, bias=True))
        self.ff.append(nn.ReLU())
        self.ff.append(nn.Linear(in_features=wide, out_features=embed_dim, bias=True))

    def forward(self, x: Tensor) -> Tensor:
        attended = self.attention(x)
        normed = self.norm1(attended + x)
        forwarded = self.ff(normed)
        return self.norm2(forwarded + normed)
