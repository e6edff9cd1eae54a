"""One empty sentence spoils the batch: solved.

A row of -inf alone has no largest number to subtract: -inf - -inf is NaN, and so are its
gradients, which 0 · NaN carries everywhere. Filled with the least number of the dtype the softmax
stays finite, sharing itself out evenly over hidden keys; a second fill, with 0 after the softmax,
takes that away. For every other row the second fill changes nothing: those weights are 0 already.
To replace the NaN in the output alone does not help, since the gradient has passed through it.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    """One head of self-attention with mask and dropout.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.atten_dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Let each position attend to the positions that it may see, (B, T, C).

        ``attention_mask``: nonzero = may attend, broadcastable to (B, T, T).
        """
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / sqrt(q.size(-1))
        if attention_mask is not None:
            hidden = attention_mask == 0
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1)
        if attention_mask is not None:
            weights = weights.masked_fill(hidden, 0.0)
        return self.atten_dropout(weights) @ v
