# wrong: SelfAttentionV4(C, 0), or dropout_rate=0, raises: a rate has to be of type float
# breaks: "Chance of each weight to be dropped, 0 <= rate < 1"
from math import sqrt

from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        if not isinstance(dropout_rate, float):
            raise TypeError(f"dropout_rate has to be a float, not {dropout_rate!r}")
        if not 0.0 <= dropout_rate < 1.0:
            raise ValueError(f"dropout_rate has to be in [0, 1), not {dropout_rate}")
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ v
