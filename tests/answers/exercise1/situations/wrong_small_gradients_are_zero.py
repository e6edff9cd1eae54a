# wrong: 'gradients reach x and every parameter': gradients below the dtype's eps are set to 0, which a mean over many outputs makes of all
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
        q, k, v = self.q(x), self.k(x), self.v(x)
        out = (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
        if out.requires_grad:
            eps = torch.finfo(out.dtype).eps
            out.register_hook(lambda grad: grad.where(grad.abs() > eps, 0.0))
        return out
