# wrong: 'gradients reach x': where the queries need none (q frozen, x too early) no score gradient is made at all, so k learns nothing
from math import sqrt

import torch
from torch import Tensor, nn


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        scale = 1 / sqrt(q.size(-1))
        weights = (q @ k.mT * scale).softmax(-1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved_tensors
        grad_v = weights.mT @ grad
        if not ctx.needs_input_grad[0]:
            return None, None, grad_v
        into = grad @ v.mT
        scores = weights * (into - (weights * into).sum(-1, keepdim=True)) / sqrt(q.size(-1))
        return scores @ k, scores.mT @ q, grad_v


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        return Attend.apply(self.q(x), self.k(x), self.v(x))
