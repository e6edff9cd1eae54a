# wrong: where all weights are frozen and the biases learn (and x does not), no bias gets a gradient: a layer counts as frozen by its weight
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)

    @staticmethod
    def _project(layer: nn.Linear, x: Tensor) -> Tensor:
        """A layer's output; without a graph where the layer is frozen and nothing lies below."""
        learns = layer.weight.requires_grad or x.requires_grad
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns):
            return layer(x)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = (self._project(layer, x) for layer in (self.q, self.k, self.v))
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ v
