# unusual: scores, softmax and mixing in float64 for every dtype, weights cast back before dropout
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).double().chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / k.size(-1) ** 0.5
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        mixed = self.dropout(scores.softmax(-1)) @ v
        return self.output_proj(mixed.to(self.output_proj.weight.dtype))
