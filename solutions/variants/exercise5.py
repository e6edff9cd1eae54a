"""Multi-head self-attention: in each head softmax(q·kᵀ/√D)·v, then the heads united.

A second way: fold the heads into the batch, (B·H, T, D), and use ``torch.bmm``; or name all axes in
``torch.einsum``, as the solution of exercise6 does, and transpose nothing by hand.
"""

from math import sqrt

from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """Several heads of self-attention side by side.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.

    Source: Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        # An error, not an assert: python -O removes asserts.
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        # One (C, C) layer is H layers of (D, C) on top of each other: every head has its own rows.
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence, in each head.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).
        """
        B, T, C = x.shape
        H, D = self.num_heads, C // self.num_heads
        # Consecutive features form a head, so (H, D) splits C in place. Then heads move next to the
        # batch: a product over the last two axes now stays inside one head of one sequence.
        q = self.to_queries(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.to_keys(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        v = self.to_values(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        # √D, not √C: a head sums D terms. √C would make every head's softmax too flat.
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, T) -> (B, H, T, T)
        weights = scores.softmax(dim=-1)  # over the keys: each query's row adds up to 1
        mixed = weights @ v  # (B, H, T, T) x (B, H, T, D) -> (B, H, T, D)
        # Back first, then merge: reshaped as it lies, one row would hold several positions of one
        # head, where it should hold all heads of one position.
        merged = mixed.transpose(1, 2).reshape(B, T, C)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, C)
        return self.unify_heads(merged)  # the only place where heads exchange what they found
