# unusual: hidden keys are removed from the exponentials by a product with the mask, then renormalised
import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / x.shape[-1] ** 0.5
        visible = torch.ones_like(scores)
        if attention_mask is not None:
            visible = visible * (attention_mask != 0)
            scores = scores.masked_fill(visible == 0, torch.finfo(scores.dtype).min)
        e = torch.exp(scores - scores.amax(-1, keepdim=True)) * visible
        weights = e / e.sum(-1, keepdim=True)
        return self.dropout(weights) @ v
