# unusual: queries in chunks of 50, each with its own piece of the mask and its own draw of dropout
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.proj(x).chunk(3, dim=-1)
        if attention_mask is None:
            mask = x.new_ones(1, 1, 1, dtype=torch.bool).expand(B, T, T)
        else:
            mask = attention_mask.bool().expand(B, T, T)
        outputs = []
        for start in range(0, T, 50):
            piece = slice(start, start + 50)
            scores = q[:, piece] @ k.transpose(1, 2) / C**0.5
            scores = scores.masked_fill(mask[:, piece].logical_not(), float("-inf"))
            weights = F.dropout(scores.softmax(-1), self.dropout_rate, self.training)
            outputs.append(weights @ v)
        return self.output_proj(torch.cat(outputs, dim=1))
