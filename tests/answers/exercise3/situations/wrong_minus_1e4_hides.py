# wrong: a float mask in which -1e4 or less stands for a visible key hides that key: it is taken for one of 0 and -inf that is to be added
# breaks: "Bool, int or float, any number; nonzero numbers all mean the same"
from math import sqrt

from torch import Tensor, nn


ADDED = -1e4  # and below: what additive masks have for a hidden key


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            hidden = attention_mask == 0
            if attention_mask.is_floating_point():
                hidden = hidden | (attention_mask <= ADDED)
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return self.output_proj(weights @ v)
