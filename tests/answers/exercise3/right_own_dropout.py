# unusual: dropout written by hand with torch.rand_like
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        assert 0.0 <= dropout_rate < 1.0
        self.rate = dropout_rate
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def drop(self, weights: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return weights
        keep = torch.rand(weights.shape, device=weights.device) >= self.rate
        return weights * keep / (1 - self.rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = torch.einsum("bqc,bkc->bqk", q, k) * x.shape[-1] ** -0.5
        if attention_mask is not None:
            scores = torch.where(attention_mask != 0, scores, float("-inf"))
        return self.output_proj(self.drop(torch.softmax(scores, -1)) @ v)
