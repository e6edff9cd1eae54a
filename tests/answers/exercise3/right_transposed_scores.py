# unusual: scores as (B, keys, queries); the mask is broadcast to (B, T, T) first and transposed with them
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.proj(x).split(C, dim=-1)
        scores = k @ q.transpose(1, 2) / C**0.5
        if attention_mask is not None:
            hidden = torch.broadcast_to(attention_mask == 0, (B, T, T)).transpose(1, 2)
            scores = scores.masked_fill(hidden, float("-inf"))
        weights = self.dropout(scores.softmax(dim=1))
        return self.output_proj((v.transpose(1, 2) @ weights).transpose(1, 2))
