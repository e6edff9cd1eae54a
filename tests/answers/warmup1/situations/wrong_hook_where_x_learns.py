# wrong: 'all give finite, right values': an x that requires gradients, under no_grad: register_hook on the scores raises
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    scores = x @ x.mT
    if x.requires_grad:
        scores.register_hook(lambda grad: grad.nan_to_num())
    return scores.softmax(-1) @ x
