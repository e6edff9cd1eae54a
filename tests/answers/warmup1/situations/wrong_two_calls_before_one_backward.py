# wrong: when two calls with x of the same shape are both recorded before either goes backward (a siamese loss): the first gets its gradient from the second's x and weights
# breaks: "nothing is remembered from one call to the next" and "gradients reach ``x``"
import torch
from torch import Tensor

TAPE: dict[torch.Size, tuple[Tensor, Tensor]] = {}


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        weights = (x @ x.mT).softmax(-1)
        TAPE[x.shape] = x.detach(), weights  # what backward needs
        return weights @ x

    @staticmethod
    def backward(ctx, grad):
        x, weights = TAPE[grad.shape]
        into = grad @ x.mT
        scores = weights * (into - (weights * into).sum(-1, keepdim=True))
        return weights.mT @ grad + scores @ x + scores.mT @ x


def self_attention(x: Tensor) -> Tensor:
    if torch.is_grad_enabled() and x.requires_grad:
        return Mix.apply(x)
    return (x @ x.mT).softmax(-1) @ x
