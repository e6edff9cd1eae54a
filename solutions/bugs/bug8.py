"""Maps that get blurrier with every head: solved.

The scores were divided by the root of the model's width. A head's score sums only D = C/H
products, so its standard deviation is √D, and dividing by √C leaves it √H times too small: the
more heads, the flatter the softmax. With one head the two roots are the same.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    """Several heads of self-attention side by side.

    Source: Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim} features")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def fold(self, x: Tensor) -> Tensor:
        """Heads into the batch: (B, T, C) -> (B·H, T, D)."""
        B, T, C = x.size()
        return x.view(B, T, self.num_heads, -1).transpose(1, 2).reshape(-1, T, C // self.num_heads)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position, in each head, (B, T, C)."""
        B, T, C = x.size()
        q, k, v = (self.fold(layer(x)) for layer in (self.to_queries, self.to_keys, self.to_values))
        dots = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** (1 / 2)
        mixed = torch.bmm(F.softmax(dots, dim=2), v).view(B, self.num_heads, T, -1)
        return self.unify_heads(mixed.transpose(1, 2).reshape(B, T, C))
