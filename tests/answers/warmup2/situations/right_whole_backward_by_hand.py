# right: one autograd.Function for everything, five gradients by hand
import math

import torch
from torch import Tensor, nn


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, wq, wk, wv):
        r = math.sqrt(wq.shape[1])
        q, k, v = x @ wq / r, x @ wk, x @ wv
        p = torch.softmax(q @ k.mT, -1)
        ctx.save_for_backward(x, wq, wk, wv, q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        x, wq, wk, wv, q, k, v, p = ctx.saved_tensors
        dv = p.mT @ g
        dp = g @ v.mT
        ds = p * (dp - (p * dp).sum(-1, keepdim=True))
        dq, dk = ds @ k / math.sqrt(wq.shape[1]), ds.mT @ q

        def outer(d):
            return x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])

        return dq @ wq.T + dk @ wk.T + dv @ wv.T, outer(dq), outer(dk), outer(dv)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Parameter(torch.randn(d_in, d_out) * 0.1) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        return _Attention.apply(x, self.query, self.key, self.value)
