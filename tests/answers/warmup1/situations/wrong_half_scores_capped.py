# wrong: 'large scores all give finite, right values': in bfloat16 scores are cut at 50
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.mT
    if x.dtype == torch.bfloat16:
        scores = scores.clamp(-50, 50)  # so that exp is safe
    return scores.softmax(-1) @ x
