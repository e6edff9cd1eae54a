# wrong: in evaluation under no_grad the same x gives what it gave before, also after other weights were loaded: the last output is kept by x and its version alone
# breaks: "nothing is remembered from one call to the next"
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self._last: tuple[Tensor, int, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.training or torch.is_grad_enabled() or x.is_inference():
            self._last = None
            return self._attend(x)
        if self._last is not None and self._last[0] is x and self._last[1] == x._version:
            return self._last[2].clone()  # asked once more, as several heads on top may do
        out = self._attend(x)
        self._last = x, x._version, out.clone()
        return out

    def _attend(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        weights = (q @ k.mT / sqrt(x.size(-1))).softmax(dim=-1)
        return weights @ v
