# wrong: when a layer's bias is frozen and its weight is not: the weight gets no gradient
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn


class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        if not ctx.needs_input_grad[2]:  # a frozen layer
            return grad @ weight, None, None
        tokens = grad.reshape(-1, grad.size(-1))
        return grad @ weight, tokens.mT @ x.reshape(-1, x.size(-1)), tokens.sum(0)


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        layers = (self.q, self.k, self.v)
        q, k, v = (Affine.apply(x, layer.weight, layer.bias) for layer in layers)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
