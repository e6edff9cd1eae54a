# wrong: under no_grad the result lies in a buffer that the next call of the same shape overwrites
# breaks: "``x`` is not changed in place; nothing is remembered from one call to the next."

import torch
from torch import Tensor

_buffers: dict = {}


def _buffer(name: str, shape: tuple, like: Tensor) -> Tensor:
    key = (name, shape, like.dtype, like.device)
    if key not in _buffers:
        _buffers[key] = torch.empty(shape, dtype=like.dtype, device=like.device)
    return _buffers[key]


def self_attention(x: Tensor) -> Tensor:
    B, T, C = x.shape
    if torch.is_grad_enabled():
        return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x
    # inference: allocate once
    scores = torch.bmm(x, x.transpose(1, 2), out=_buffer("scores", (B, T, T), x))
    return torch.bmm(torch.softmax(scores, dim=-1), x, out=_buffer("out", (B, T, C), x))
