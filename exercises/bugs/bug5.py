"""A class that cannot be built.

A colleague reports: "I typed it in from a blog post. The class is there, the import works, and
the first line that builds one dies. The message talks about something called super, which I never
wrote a class for. And please check the rest, too: I have never seen it run."

The contract is that of exercise5: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """Several heads of self-attention side by side.

    Source: Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super.init()
        assert embed_dim % num_heads == 0
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
        weights = (q @ k.transpose(-2, -1) / sqrt(D)).softmax(dim=-1)
        merged = (weights @ v).transpose(1, 2).view(B, T, C)
        return self.unify_heads(merged)
