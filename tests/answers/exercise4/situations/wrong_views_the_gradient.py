# wrong: 'gradients reach x and every parameter' - the backward views its gradient, which raises where the caller transposed the output
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, v):
        ctx.save_for_backward(weights, v)
        return weights @ v

    @staticmethod
    def backward(ctx, grad):
        weights, v = ctx.saved_tensors
        grad = grad.view(-1, v.size(-1)).view(v.shape)
        return grad @ v.mT, weights.mT @ grad


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.rate = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        weights = F.dropout(weights, self.rate, self.training)
        return Mix.apply(weights, v)
