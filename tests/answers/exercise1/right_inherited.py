# unusual: the class itself is empty; its parents do everything, and a method is called like torch's operator
import torch
from torch import Tensor, nn


class Projections(nn.Module):
    def __init__(self, hidden_dim: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__()
        options = dict(bias=bias, device=device, dtype=dtype)
        self.q = nn.Linear(hidden_dim, hidden_dim, **options)
        self.k = nn.Linear(hidden_dim, hidden_dim, **options)
        self.v = nn.Linear(hidden_dim, hidden_dim, **options)

    def project(self, x: Tensor):
        yield from (layer(x) for layer in self.children())


class AttendMixin:
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.transpose(-2, -1)).div(k.size(-1) ** 0.5).softmax(-1) @ v

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(*self.project(x))


class SelfAttentionV1(AttendMixin, Projections):
    pass
