# wrong: 'gradients reach x': backward works on detached copies, so gradients of gradients (a gradient penalty) silently miss terms
from math import sqrt

import torch
from torch import Tensor, nn


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        weights = (q @ k.mT / sqrt(q.size(-1))).softmax(-1)
        ctx.saved = q.detach(), k.detach(), v.detach(), weights.detach()
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, weights = ctx.saved
        into = grad @ v.mT
        scores = weights * (into - (weights * into).sum(-1, keepdim=True)) / sqrt(q.size(-1))
        return scores @ k, scores.mT @ q, weights.mT @ grad


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        return Attend.apply(self.q(x), self.k(x), self.v(x))
