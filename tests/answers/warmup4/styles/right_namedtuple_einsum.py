# Strange: the steps live in a NamedTuple; einsum with an ellipsis; the softmax by logsumexp in a wide dtype.
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Steps(NamedTuple):
    q: Tensor
    k: Tensor
    v: Tensor
    similarities: Tensor
    scaled: Tensor
    weights: Tensor
    output: Tensor


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.axes = (row_dim, col_dim)

    def steps(self, x: Tensor) -> Steps:
        row, col = self.axes
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        s = torch.einsum("...ab,...bz->...az", q, k.movedim(row, col))
        z = s / k.size(col) ** 0.5
        wide = z.to(torch.promote_types(z.dtype, torch.float32))
        w = (wide - wide.logsumexp(col, keepdim=True)).exp().to(z.dtype)
        return Steps(q, k, v, s, z, w, torch.einsum("...az,...zb->...ab", w, v))

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        return self.steps(x)._asdict()

    def forward(self, x: Tensor) -> Tensor:
        return self.steps(x).output
