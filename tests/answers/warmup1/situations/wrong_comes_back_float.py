# wrong: 'return the same one' (dtype): float32 comes back for bfloat16
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    if x.dtype in (torch.float16, torch.bfloat16):
        x = x.float()  # the softmax is not accurate enough in half precision
    scores = torch.matmul(x, x.transpose(1, 2))
    return torch.matmul(scores.softmax(-1), x)
