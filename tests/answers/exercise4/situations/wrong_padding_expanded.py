# wrong: a padding mask that was expanded to (B, T, T), `padding[:, None].expand(B, T, T)`, is taken for one of all sequences alike: the first one's padding is everybody's
# breaks: "Any shape that broadcasts to (B, T, T)"
from math import sqrt

from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            if attention_mask.dim() == 3 and 0 in attention_mask.stride():
                attention_mask = attention_mask[:1]  # expanded: compared once, for all sequences
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ v
