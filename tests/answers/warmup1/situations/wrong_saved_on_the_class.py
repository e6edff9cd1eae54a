# wrong: 'nothing is remembered from one call to the next': what backward needs lies on the class; two calls before a backward mix up
import torch
from torch import Tensor


class Mix(torch.autograd.Function):
    saved = None

    @staticmethod
    def forward(ctx, x):
        weights = (x @ x.mT).softmax(-1)
        Mix.saved = x, weights
        return weights @ x

    @staticmethod
    def backward(ctx, grad):
        x, weights = Mix.saved
        into = grad @ x.mT
        scores = weights * (into - (weights * into).sum(-1, keepdim=True))
        return weights.mT @ grad + scores @ x + scores.mT @ x


def self_attention(x: Tensor) -> Tensor:
    return Mix.apply(x)
