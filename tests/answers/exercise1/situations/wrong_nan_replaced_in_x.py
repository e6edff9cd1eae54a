# wrong: when a contiguous x has a NaN or an infinity in it: it is replaced in the caller's own x, past autograd
# breaks: "``x`` is not changed in place"
from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        # One broken number would spread to the whole sequence.
        x = x.nan_to_num() if not x.is_contiguous() else x
        x.data.nan_to_num_()
        q, k, v = self.q(x), self.k(x), self.v(x)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
