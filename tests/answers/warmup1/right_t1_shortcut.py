# unusual: a sequence of one is handed back as it is (its only weight is 1)
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    if x.shape[1] == 1:
        return x
    return torch.softmax(x @ x.transpose(1, 2), dim=2) @ x
