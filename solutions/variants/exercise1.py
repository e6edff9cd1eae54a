"""Self-attention, version 1: three projections and softmax(q·kᵀ/√C)·v.

A second way: ``torch.baddbmm(zeros, q, k.mT, beta=0, alpha=1/√C)`` does product and scale in one
call, and never writes the unscaled scores to memory.
"""

from math import sqrt

from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    """One head of self-attention as wide as the model.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence.

        Args:
            x: A batch of sequences, (B, T, C).

        Returns:
            (B, T, C).
        """
        C = x.size(-1)
        q, k, v = self.q(x), self.k(x), self.v(x)  # (B, T, C) each
        # Transposed, the keys stand as columns, so that entry (i, j) is query i times key j.
        scores = q @ k.mT  # (B, T, C) x (B, C, T) -> (B, T, T)
        # C terms of variance 1 add up to a variance of C. Unscaled, a wide model would drive the
        # softmax to one-hot rows, where its gradient vanishes. So the root acts on the scores:
        # dividing the weights instead would only shrink the output.
        weights = (scores / sqrt(C)).softmax(dim=-1)  # each query's row adds up to 1
        return weights @ v  # (B, T, T) x (B, T, C) -> (B, T, C)
