# wrong: a (T, T) mask that is a part of a larger one, as `causal[:T, :T]`, is read row after row as if it lay in one piece: other keys are hidden
# breaks: "Nonzero or True = may attend, zero = hidden"
from math import sqrt

from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        T, C = x.shape[1:]
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(C)
        if attention_mask is not None:
            mask = attention_mask
            if mask.shape == (T, T) and mask.stride(-1) == 1:
                mask = mask.as_strided((T, T), (T, 1))  # rows as they lie, whatever x is like
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return self.output_proj(weights @ v)
