# unusual: a generator yields (name, step) pairs; own softmax; intermediates is dict(generator)
import torch
from collections.abc import Iterator

from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def _steps(self, x: Tensor) -> Iterator[tuple[str, Tensor]]:
        yield "q", (q := self.W_q(x))
        yield "k", (k := self.W_k(x))
        yield "v", (v := self.W_v(x))
        yield "similarities", (s := q.matmul(k.transpose(self.col_dim, self.row_dim)))
        yield "scaled", (z := s.div(k.size(self.col_dim) ** 0.5))
        e = torch.exp(z - z.max(dim=self.col_dim, keepdim=True).values)
        yield "weights", (w := e / e.sum(dim=self.col_dim, keepdim=True))
        yield "output", w.matmul(v)

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        return dict(self._steps(x))

    def forward(self, x: Tensor) -> Tensor:
        *_, (_, output) = self._steps(x)
        return output
