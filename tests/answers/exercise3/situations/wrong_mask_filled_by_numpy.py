# wrong: a mask that was filled anew through numpy (`torch.from_numpy(array)`, then `array[...] = ...`) is not looked at again: what it hides is kept by the tensor and its version
# breaks: "nothing is remembered from one call to the next"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self._known: tuple[Tensor, int, Tensor] | None = None

    def _hidden(self, mask: Tensor) -> Tensor:
        """Where the mask is zero; of the same mask, as every layer is given it, once."""
        if mask.is_inference() or torch.is_inference_mode_enabled():
            return mask == 0
        if self._known is None or self._known[0] is not mask or self._known[1] != mask._version:
            self._known = mask, mask._version, mask == 0
        return self._known[2]

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(self._hidden(attention_mask), float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return self.output_proj(weights @ v)
