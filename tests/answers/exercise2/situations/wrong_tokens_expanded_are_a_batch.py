# wrong: an x that is expanded along T, one token of each sequence said T times, is taken for one sequence said B times: all get the first one's output (where x does not learn)
# breaks: "a non-contiguous ``x`` and large scores all give finite, right values"
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        if 0 in x.stride() and not x.requires_grad:
            # Expanded: the same numbers again and again, so once is enough.
            return self._attend(x[:1]).expand(x.shape)
        return self._attend(x)

    def _attend(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        weights = (q @ k.mT / sqrt(x.size(-1))).softmax(dim=-1)
        return weights @ v
