# wrong: 'gradients reach ... every parameter' (right ones): backward stores the bias gradient in .grad as well as giving it back, so loss.backward() counts it twice
from math import sqrt

import torch
from torch import Tensor, nn


class Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        ctx.bias = bias
        return x @ weight.mT + bias

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        ctx.bias.grad = grad.sum((0, 1))
        return grad @ weight, torch.einsum("bto,bti->oi", grad, x), ctx.bias.grad


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = Project.apply(x, self.proj.weight, self.proj.bias).chunk(3, -1)
        return (q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
