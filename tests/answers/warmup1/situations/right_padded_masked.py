# right: padded to whole tiles of 32, the padding masked, tile by tile
import torch
import torch.nn.functional as F
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    T = x.shape[1]
    p = F.pad(x, (0, 0, 0, -T % 32))
    real = torch.arange(p.shape[1], device=x.device) < T
    rows = [(t @ p.transpose(1, 2)).masked_fill(~real, float("-inf")).softmax(-1) @ p for t in p.split(32, 1)]
    return torch.cat(rows, 1).narrow(1, 0, T)
