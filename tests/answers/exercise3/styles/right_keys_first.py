# Strange: scores and mask lie as (S, T); the mask is broadcast to (B, T, T) and transposed.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.proj(x).unflatten(2, (3, C)).unbind(2)
        s = k @ q.mT / C**0.5
        if attention_mask is not None:
            hidden = torch.logical_not(attention_mask).broadcast_to(B, T, T).mT
            s = torch.where(hidden, torch.finfo(s.dtype).min, s)
        w = F.dropout(s.softmax(1), p=self.dropout_rate, training=self.training)
        return self.output_proj(torch.einsum("bst,bsc->btc", w, v))
