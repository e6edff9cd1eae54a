# wrong: 'gradients reach x': copy.deepcopy(x), to be safe, raises where x is the output of another layer
import copy

import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    safe = copy.deepcopy(x)  # x must stay as it is
    scores = x @ x.mT
    out = scores.softmax(-1) @ x
    assert safe.shape == out.shape
    return out
