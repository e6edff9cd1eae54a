"""Cross-attention: one sequence asks, another one answers, and some of that one is padding.

A second way to a sequence with nothing to read: let it see everything, so that no softmax is ever
of nothing, and multiply its output by 0. That needs one more line, and has no NaN on the way.
"""

from math import sqrt

from torch import Tensor, nn


class CrossAttention(nn.Module):
    """Several heads that read another sequence.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.

    Source: Vaswani et al. 2017, section 3.2.3, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        # An error, not an assert: python -O removes asserts.
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        # Keys have to meet queries and values replace them, so both leave the memory's width here.
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Let each position of ``x`` attend to what its own sequence of ``memory`` really holds.

        Args:
            x: A batch of sequences that ask, (B, T, C).
            memory: A batch of sequences that are read, (B, S, E).
            memory_mask: (B, S): nonzero or True = a real token, zero = padding;
                ``nn.MultiheadAttention`` means the opposite. None hides nothing.

        Returns:
            (B, T, C); zeros where a sequence's keys are all hidden.
        """
        B, T, C = x.shape
        S = memory.size(1)
        H, D = self.num_heads, C // self.num_heads
        q = self.q_proj(x).reshape(B, T, H, D).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        k = self.k_proj(memory).reshape(B, S, H, D).transpose(1, 2)  # (B, S, E) -> (B, H, S, D)
        v = self.v_proj(memory).reshape(B, S, H, D).transpose(1, 2)  # (B, S, E) -> (B, H, S, D)
        scores = q @ k.mT / sqrt(D)  # (B, H, T, D) x (B, H, D, S) -> (B, H, T, S)
        if memory_mask is None:
            weights = scores.softmax(dim=-1)  # over the keys: each query's row adds up to 1
        else:
            # A key is hidden from all heads and all queries of its sequence, and from no other's.
            hidden = (memory_mask == 0)[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
            weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
            # Of nothing but -inf, a softmax is NaN. Hidden once more, such a row is 0; and on the
            # way back the first masked_fill gives 0 to every hidden score, whatever comes to it.
            weights = weights.masked_fill(hidden, 0.0)
        mixed = weights @ v  # (B, H, T, S) x (B, H, S, D) -> (B, H, T, D)
        # Back first, then merge: all heads of one position make one row.
        merged = mixed.transpose(1, 2).reshape(B, T, C)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, C)
        return self.o_proj(merged)
