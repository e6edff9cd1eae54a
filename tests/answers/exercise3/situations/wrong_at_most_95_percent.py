# wrong: at a dropout rate above 0.95 only 95% of the weights are dropped, and the rest is scaled by 20 at most
# breaks: "Chance of each weight to be dropped, 0 <= rate < 1"
from math import sqrt

from torch import Tensor, nn


MOST = 0.95  # at a higher rate most rows of a short sequence would have nothing left


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(min(dropout_rate, MOST))
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return self.output_proj(weights @ v)
