# right: recursion for the batch, a loop over queries, matrix times vector
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Reads like the formula for one query."""

    query: nn.Parameter
    key: nn.Parameter
    value: nn.Parameter

    def __init__(self, d_in: int, d_out: int) -> None:
        nn.Module.__init__(self)
        self.d_out = d_out
        self.query, self.key, self.value = (
            nn.Parameter(nn.init.trunc_normal_(torch.empty(d_in, d_out), std=0.02)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 3:
            return torch.stack([self.forward(one) for one in x])
        keys, values = x.matmul(self.key), x.matmul(self.value)
        out = []
        for token in x:
            q = token @ self.query
            weights = torch.mv(keys, q).div(self.d_out**0.5).softmax(0)
            out.append(weights @ values)
        return torch.stack(out)
