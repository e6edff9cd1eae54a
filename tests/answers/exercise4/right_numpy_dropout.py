# unusual: the dropout pattern is drawn with numpy's generator instead of torch's
import numpy as np
import torch
from torch import Tensor, nn

RNG = np.random.default_rng()


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / x.size(-1) ** 0.5
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        if self.training and self.dropout_rate > 0:
            keep = torch.from_numpy(RNG.random(tuple(weights.shape)) >= self.dropout_rate)
            weights = weights * keep.to(weights.device) / (1 - self.dropout_rate)
        return weights @ self.v(x)
