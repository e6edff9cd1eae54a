# wrong: 'gradients reach x and every parameter' (right ones): in bfloat16 the softmax's own backward forgets the sum of the row
from math import sqrt

import torch
from torch import Tensor, nn


class SoftmaxInFloat(torch.autograd.Function):
    """Softmax of half precision scores, computed in float32."""

    @staticmethod
    def forward(ctx, scores):
        weights = scores.float().softmax(-1)
        ctx.save_for_backward(weights)
        return weights.to(scores.dtype)

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        return (grad.float() * weights).to(grad.dtype)


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.mT / sqrt(q.size(-1))
        half = scores.dtype == torch.bfloat16
        return (SoftmaxInFloat.apply(scores) if half else scores.softmax(-1)) @ v
