# Strange: the softmax's denominator is the last entry of a logcumsumexp; float64 inside.
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    y = x.double()
    s = torch.baddbmm(y.new_zeros(()), y, y.transpose(-2, -1), beta=0)
    s = s - s.detach().amax(-1, keepdim=True)  # the gradient of logcumsumexp is poor far from 0
    return torch.matmul((s - s.logcumsumexp(-1)[..., -1:]).exp(), y).type_as(x)
