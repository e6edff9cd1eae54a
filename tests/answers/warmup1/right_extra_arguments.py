# unusual: more parameters than asked for, all with defaults, and its own scaled_dot_product in name only
from typing import Optional

import torch
from torch import Tensor


def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor, scale: float = 1.0) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v


def self_attention(x: Tensor, scale: Optional[float] = None, **kwargs) -> Tensor:
    return scaled_dot_product(x, x, x, 1.0 if scale is None else scale)
