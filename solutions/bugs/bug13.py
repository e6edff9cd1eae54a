"""A debugging round of five: solved.

The five: the scores were divided by the root of the length, not of the head size; the softmax ran
over the queries; the feed-forward skipped its ReLU; the second sum started from the block's
input, not from the first half's result; and the first norm was used twice, so the second never
learned.
"""

from math import sqrt

from torch import Tensor, nn


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

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position, in each head, (B, T, C)."""
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.to_queries(x).view(B, T, H, D).transpose(1, 2)
        k = self.to_keys(x).view(B, T, H, D).transpose(1, 2)
        v = self.to_values(x).view(B, T, H, D).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / sqrt(D)
        weights = scores.softmax(dim=-1)
        merged = (weights @ v).transpose(1, 2).reshape(B, T, C)
        return self.unify_heads(merged)


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each with a sum and a norm after it.

    Source: Vaswani et al. 2017, section 3.1, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.ReLU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Send ``x`` through attention and feed-forward, (B, T, C)."""
        attended = self.attention(x)
        first = self.norm1(x + attended)
        second = first + self.ff(first)
        return self.norm2(second)
