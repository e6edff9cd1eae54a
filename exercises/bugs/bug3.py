"""A model that never says the same twice.

A colleague reports: "I call `model.eval()`, and still the same sentence gives other numbers each
time. I set `dropout_rate=0` to be sure, and then it is stable. Does `eval()` not work any more?"

The contract is that of exercise4: the names of class and layers, and the rules that
stand in its file. Repair this one in place, with as few changes as it takes.
"""

from math import sqrt

from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV4(nn.Module):
    """One head of self-attention with mask and dropout.

    Source: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762
    """

    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Let each position attend to the positions that it may see, (B, T, C).

        ``attention_mask``: nonzero = may attend, broadcastable to (B, T, T).
        """
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / sqrt(q.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(dim=-1)
        weights = F.dropout(weights, self.dropout_rate)
        return weights @ v
