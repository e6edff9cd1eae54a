# right: baddbmm, subtracting the own square as an offset that cancels
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    empty = x.new_zeros(()).expand(x.shape[0], x.shape[1], x.shape[1])
    s = torch.baddbmm(empty, x, x.transpose(1, 2), beta=0)
    s = s - s.amax(dim=-1, keepdim=True).detach()
    e = s.exp()
    return torch.bmm(e / e.sum(-1, keepdim=True), x)
