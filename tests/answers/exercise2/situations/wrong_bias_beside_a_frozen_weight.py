# wrong: where the weight of proj is frozen and its bias learns, the bias gets no gradient: the projection's own backward makes both or none
# breaks: "gradients reach ``x`` and every parameter"
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Project(torch.autograd.Function):
    """x @ weight.T + bias; what is frozen costs nothing on the way back."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad @ weight
        if ctx.needs_input_grad[1]:  # the layer learns
            rows = grad.flatten(0, 1)
            grad_weight = rows.mT @ x.flatten(0, 1)
            grad_bias = rows.sum(0)
        return grad_x, grad_weight, grad_bias


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        qkv = Project.apply(x, self.proj.weight, self.proj.bias)
        q, k, v = qkv.chunk(3, dim=-1)
        weights = (q @ k.mT / sqrt(x.size(-1))).softmax(dim=-1)
        return weights @ v
