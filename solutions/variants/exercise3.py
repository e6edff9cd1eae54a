"""Self-attention, version 3: with mask, dropout and output projection.

A second way: turn the mask into numbers to add, 0 where a key may be seen and -inf where not, and
let ``torch.baddbmm`` add them to the scaled product in one call. Multiplying a mask by -inf is not
that way: 0 · inf is NaN.
"""

from math import sqrt

from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    """One head of self-attention with everything that training asks for.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Let each position attend to the positions that it may see.

        Args:
            x: A batch of sequences, (B, T, C).
            attention_mask: Nonzero or True = may attend, zero = hidden; ``nn.MultiheadAttention``
                means the opposite. Broadcastable to (B, T, T), queries before keys.

        Returns:
            (B, T, C).
        """
        C = x.size(-1)
        q, k, v = self.proj(x).chunk(3, dim=-1)  # (B, T, 3C) -> three of (B, T, C)
        scores = q @ k.mT / sqrt(C)  # (B, T, C) x (B, C, T) -> (B, T, T)
        if attention_mask is not None:
            # Before the softmax, so that the visible keys share the whole of 1 among themselves.
            # Comparing with 0 reads bool, int and float masks alike, and exp(-inf) is exactly 0.
            # A row with nothing to see turns into NaN; the dtype's minimum would spread it evenly.
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(dim=-1)  # over the keys: each query's row adds up to 1
        # On the weights, so that whole connections go missing and the model can't lean on one.
        # As a layer it knows whether the module is training.
        weights = self.dropout(weights)
        mixed = weights @ v  # (B, T, T) x (B, T, C) -> (B, T, C)
        return self.output_proj(mixed)
