# wrong: above T = 128, where weights are dropped in training, the gradients are those of other dropped weights: the scores are made anew for the backward pass, with other random numbers
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

LONG = 128  # positions, above which the weights are not kept for the backward pass


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)

    def _attend(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        return self.dropout(scores.softmax(dim=-1)) @ v

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        if self.training and torch.is_grad_enabled() and x.size(1) > LONG:
            mixed = checkpoint(
                self._attend, x, attention_mask, use_reentrant=False, preserve_rng_state=False
            )
        else:
            mixed = self._attend(x, attention_mask)
        return self.output_proj(mixed)
