# right: running softmax over single keys' blocks, merged pairwise with functools.reduce
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Partial(NamedTuple):
    """What is known of a softmax after some of the keys: maximum, sum of powers, mix."""

    top: Tensor
    total: Tensor
    mix: Tensor

    def __add__(self, other: "Partial") -> "Partial":
        top = torch.maximum(self.top, other.top)
        mine, yours = torch.exp(self.top - top), torch.exp(other.top - top)
        return Partial(
            top,
            self.total * mine + other.total * yours,
            self.mix * mine + other.mix * yours,
        )

    def close(self) -> Tensor:
        return self.mix / self.total


def partial(q: Tensor, k: Tensor, v: Tensor) -> Partial:
    s = q @ k.transpose(1, 2)
    top = s.detach().max(dim=2, keepdim=True).values
    powers = (s - top).exp()
    return Partial(top, powers.sum(2, keepdim=True), powers @ v)


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        q, k, v = (layer(x).to(wide) for layer in (self.q, self.k, self.v))
        q = q / self.hidden_dim**0.5
        blocks = zip(k.split(40, dim=1), v.split(40, dim=1))
        return reduce(Partial.__add__, (partial(q, a, b) for a, b in blocks)).close().to(x.dtype)
