# wrong: in training at a rate above 0 a float32 module keeps its dropped weights in float16 for the backward pass, so the gradients of the values, of proj and of x have 3 digits
# breaks: "compute in no narrower dtype, return the same one"
from math import sqrt

import torch
from torch import Tensor, nn


class Mix(torch.autograd.Function):
    """(weights * factors) @ v; of three (T, T) tensors it keeps one and a half."""

    @staticmethod
    def forward(ctx, weights: Tensor, factors: Tensor, v: Tensor) -> Tensor:
        dropped = weights * factors
        is_float = dropped.dtype == torch.float32
        ctx.save_for_backward(dropped.half() if is_float else dropped, factors, v)
        return dropped @ v

    @staticmethod
    def backward(ctx, grad: Tensor):
        dropped, factors, v = ctx.saved_tensors
        return (grad @ v.mT) * factors, None, dropped.to(grad.dtype).mT @ grad


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout_rate = dropout_rate

    def _mix(self, weights: Tensor, v: Tensor) -> Tensor:
        if not self.training or self.dropout_rate == 0:
            return weights @ v
        keep = torch.rand(weights.shape, device=weights.device) >= self.dropout_rate
        return Mix.apply(weights, keep.to(weights.dtype) / (1 - self.dropout_rate), v)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.mT / sqrt(x.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        return self.output_proj(self._mix(scores.softmax(dim=-1), v))
