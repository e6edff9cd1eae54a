# unusual: the mask becomes a float bias of 0 and -inf that is added to the scores
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = torch.split(self.proj(x), self.hidden_dim, dim=2)
        bias = torch.zeros(x.shape[1], x.shape[1], dtype=x.dtype, device=x.device)
        if attention_mask is not None:
            hidden = torch.logical_not(attention_mask)
            bias = torch.zeros_like(hidden, dtype=x.dtype).masked_fill_(hidden, -math.inf)
        scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(self.hidden_dim) + bias
        weights = F.dropout(F.softmax(scores, dim=-1), p=self.dropout_rate, training=self.training)
        return self.output_proj(torch.matmul(weights, v))
