# Strange: match on the shape, everything as a batch, online softmax over blocks of keys folded by reduce.
from functools import reduce

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(d_in, d_out))
        self.key = nn.Parameter(torch.empty_like(self.query))
        self.value = nn.Parameter(torch.empty_like(self.query))
        for p in (self.query, self.key, self.value):
            nn.init.trunc_normal_(p, std=0.1)

    def forward(self, x: Tensor) -> Tensor:
        match x.shape:
            case (_, _):
                return self.forward(x[None])[0]
            case (b, t, _):
                pass
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = ((x @ w).to(wide) for w in (self.query, self.key, self.value))
        q = q / q.shape[-1] ** 0.5
        start = (q.new_full((b, t, 1), float("-inf")), q.new_zeros(b, t, 1), torch.zeros_like(q))

        def step(state, block):
            m, z, a = state
            s = q @ block[0].mT
            n = torch.maximum(m, s.detach().amax(-1, True))
            p, c = (s - n).exp(), (m - n).exp()
            return n, z * c + p.sum(-1, True), a * c + p @ block[1]

        _, z, a = reduce(step, zip(k.split(32, 1), v.split(32, 1)), start)
        return (a / z).to(x.dtype)
