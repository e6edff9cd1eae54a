# wrong: for bfloat16 and T of 128 or more: backward goes over the queries in blocks, and key and value get the gradient of the last block alone
# breaks: "gradients reach ``x`` and every parameter" (right ones)
from math import sqrt

import torch
from torch import Tensor, nn

BLOCK = 64
LONG = 128


class Lean(torch.autograd.Function):
    """Attention in float32 that keeps no (T, T) matrix for its backward."""

    @staticmethod
    def forward(ctx, q, k, v):
        ctx.save_for_backward(q, k, v)
        scores = q.float() @ k.float().mT / sqrt(q.size(-1))
        return (scores.softmax(-1) @ v.float()).to(q.dtype)

    @staticmethod
    def backward(ctx, grad):
        q, k, v = (saved.float() for saved in ctx.saved_tensors)
        into_q = []
        for some, g in zip(q.split(BLOCK, -2), grad.float().split(BLOCK, -2), strict=True):
            weights = (some @ k.mT / sqrt(q.size(-1))).softmax(-1)
            into = g @ v.mT
            scores = weights * (into - (weights * into).sum(-1, keepdim=True)) / sqrt(q.size(-1))
            into_q.append(scores @ k)
            into_k = scores.mT @ some
            into_v = weights.mT @ g
        found = (torch.cat(into_q, -2), into_k, into_v)
        return tuple(one.to(grad.dtype) for one in found)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.key = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))
        self.value = nn.Parameter(torch.randn(d_in, d_out) / sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        if x.dtype in (torch.bfloat16, torch.float16) and x.size(-2) >= LONG:
            return Lean.apply(q, k, v)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
