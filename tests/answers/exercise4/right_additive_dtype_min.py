# unusual: Hugging Face style: (1 - mask) * finfo.min is added, after the mask was made 0 or 1
import torch
from torch import Tensor, nn


def extended_mask(attention_mask: Tensor, dtype: torch.dtype) -> Tensor:
    attention_mask = attention_mask.bool().to(dtype)
    return (1.0 - attention_mask) * torch.finfo(dtype).min


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        scores = torch.matmul(self.q(x), self.k(x).transpose(-1, -2)) / self.q.out_features**0.5
        if attention_mask is not None:
            scores = scores + extended_mask(attention_mask, scores.dtype)
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        return torch.matmul(probs, self.v(x))
