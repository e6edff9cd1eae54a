# wrong: under no_grad, for x that is expanded along its features or tokens (not along the batch): every sequence is given the output of the first
# breaks: "a non-contiguous ``x`` ... give finite, right values"
import torch
from torch import Tensor


def attend(x: Tensor) -> Tensor:
    return (x @ x.mT).softmax(-1) @ x


def self_attention(x: Tensor) -> Tensor:
    if 0 in x.stride() and not torch.is_grad_enabled():
        # An expanded batch is one sequence over and over: once is enough.
        return attend(x[:1]).repeat(x.size(0), 1, 1)
    return attend(x)
