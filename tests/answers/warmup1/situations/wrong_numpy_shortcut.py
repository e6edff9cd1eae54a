# wrong: bfloat16 under no_grad: numpy has no such dtype, TypeError
import numpy as np
import torch
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    if x.device.type == "cpu" and not (torch.is_grad_enabled() and x.requires_grad):
        a = x.detach().numpy()
        s = a @ a.swapaxes(1, 2)
        s = np.exp(s - s.max(axis=-1, keepdims=True))
        return torch.from_numpy((s / s.sum(axis=-1, keepdims=True)) @ a)
    return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x
