# right: lifted to four axes with baddbmm, a callable class attribute, a base class
import torch
from torch import Tensor, nn


class _Base(nn.Module):
    query: nn.Parameter
    key: nn.Parameter
    value: nn.Parameter

    def qkv(self, rows: Tensor):
        yield from (rows.mm(getattr(self, n)) for n in self.names)


class SelfAttention(_Base):
    names = ("query", "key", "value")

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        start = torch.empty(3, d_in, d_out)
        start.normal_(std=0.02)
        self.__dict__["root"] = d_out**0.5
        for n, w in zip(self.names, start):
            setattr(self, n, nn.Parameter(w.clone()))

    def forward(self, x: Tensor) -> Tensor:
        *lead, T, d_in = x.shape
        q, k, v = (t.reshape(-1, T, t.shape[-1]) for t in self.qkv(x.reshape(-1, d_in)))
        nought = q.new_zeros(1, 1, 1).expand(q.shape[0], T, T)
        s = torch.baddbmm(nought, q, k.transpose(1, 2), beta=1, alpha=1 / self.root)
        return torch.bmm(s.softmax(2), v).reshape(*lead, T, -1)
