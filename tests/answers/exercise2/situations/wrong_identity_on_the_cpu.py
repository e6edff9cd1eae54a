# wrong: 'on any device, even meta': backward makes an identity matrix on the CPU
from math import sqrt

import torch
from torch import Tensor, nn


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        weights = scores.softmax(-1)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        rows = weights * grad
        eye = torch.eye(weights.size(-1), dtype=weights.dtype)
        return (rows.unsqueeze(-2) * (eye - weights.unsqueeze(-1))).sum(-1) if weights.size(-1) < 40 else (
            rows - weights * (rows * torch.ones(rows.size(-1), dtype=rows.dtype)).sum(-1, keepdim=True)
        )


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, -1)
        return Softmax.apply(q @ k.mT / sqrt(q.size(-1))) @ v
