# unusual: the mask as log of 0 and 1: adds log(0) = -inf or log(1) = 0
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = torch.bmm(q, k.transpose(1, 2)) / k.shape[-1] ** 0.5
        if attention_mask is not None:
            scores = scores + attention_mask.ne(0).to(scores.dtype).log()
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.output_proj(torch.bmm(weights, v))
