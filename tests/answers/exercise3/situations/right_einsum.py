# right: einsum, mask as a bool turned to -inf by torch.where
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
        q, k, v = torch.einsum("btc,ndc->nbtd", x, self.proj.weight.unflatten(0, (3, -1))) + self.proj.bias.view(3, 1, 1, -1)
        s = torch.einsum("bic,bjc->bij", q, k) * self.hidden_dim**-0.5
        if attention_mask is not None:
            s = torch.where(attention_mask.bool(), s, -torch.inf)
        w = F.dropout(s.softmax(2), p=self.dropout_rate, training=self.training)
        return torch.einsum("bij,bjc,dc->bid", w, v, self.output_proj.weight) + self.output_proj.bias
