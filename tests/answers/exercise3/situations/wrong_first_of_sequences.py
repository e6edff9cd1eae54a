# wrong: of a mask of shape (B, 1, 1) the first sequence's number is used for all: where the first is hidden, the others see nothing either
# breaks: "Any shape that broadcasts to (B, T, T), queries before keys"
from math import sqrt

from torch import Tensor, nn


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
            if set(hidden.shape[-2:]) <= {1}:  # (), (1,), (1, 1), (1, 1, 1): one number for all
                hidden = hidden.flatten()[0]
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return self.output_proj(weights @ v)
