# wrong: 'large scores ... finite' for bfloat16: computed in float16, which overflows
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    work = x.half() if x.dtype == torch.bfloat16 else x  # more mantissa bits than bfloat16
    scores = work @ work.transpose(1, 2)
    out = torch.softmax(scores, dim=-1) @ work
    return out.to(x.dtype)
