"""Tensors as Python source that rebuilds them bit for bit, with torch alone."""

from __future__ import annotations

import base64
import textwrap
import zlib

import numpy as np
import torch
from torch import Tensor

MAX_WRITTEN_NUMBERS = 1000  # a tensor with more is packed instead of written out
PACKED_SOURCE = '''
def packed(text, shape, dtype):
    """A tensor of many numbers."""
    data = bytearray(zlib.decompress(base64.b85decode("".join(text.split()))))
    return torch.frombuffer(data, dtype=dtype).view(shape)
'''
STRIDED_SOURCE = '''
def strided(values, shape, stride, offset):
    """The same values, laid out in memory as the check had them."""
    last = sum((size - 1) * step for size, step in zip(values.shape, stride))
    room = torch.zeros(last + 1 + 2 * offset, dtype=values.dtype, device=values.device)
    return room.as_strided(values.shape, stride, offset).copy_(values).expand(shape)
'''


def tensor_text(tensor: Tensor) -> str:
    """Return a Python expression that rebuilds a tensor.

    It may use the names ``inf`` and ``nan``, and the functions in ``PACKED_SOURCE`` and
    ``STRIDED_SOURCE``.
    """
    text = _strided(tensor.detach())
    return f"{text}.requires_grad_()" if tensor.requires_grad else text


def _strided(tensor: Tensor) -> str:
    if tensor.is_contiguous() and not tensor.storage_offset():
        return _values(tensor)
    base = tensor
    for dim, step in enumerate(tensor.stride()):
        if step == 0:
            base = base.narrow(dim, 0, 1)
    where = f"{tuple(tensor.shape)}, {tensor.stride()}, {tensor.storage_offset()}"
    return f"strided({_values(base.contiguous())}, {where})"


def _values(tensor: Tensor) -> str:
    device = "" if tensor.device.type == "cpu" else f', device="{tensor.device}"'
    here = tensor.cpu()
    if not here.numel():
        return f"torch.zeros({tuple(here.shape)}, dtype={here.dtype}{device})"
    if here.numel() > MAX_WRITTEN_NUMBERS:
        data = here.view(torch.uint8) if here.dim() else here.view(1).view(torch.uint8)
        text = base64.b85encode(zlib.compress(data.numpy().tobytes())).decode()
        lines = "\n".join(textwrap.wrap(text, 96))
        moved = f".to({str(tensor.device)!r})" if device else ""
        return f'packed("""\n{lines}\n""", {tuple(here.shape)}, {here.dtype}){moved}'
    usual = here.dtype in (torch.float32, torch.int64, torch.bool)
    dtype = "" if usual else f", dtype={here.dtype}"
    return f"torch.tensor({_numbers(here)}{dtype}{device})"


def _numbers(tensor: Tensor) -> str:
    """Return a tensor's numbers as nested lists, with a line for each row."""
    if tensor.dim() == 0:
        return _number(tensor)
    if tensor.dim() == 1:
        return f"[{', '.join(_number(one) for one in tensor)}]"
    rows = ",\n".join(_numbers(one) for one in tensor)
    return f"[\n{textwrap.indent(rows, '    ')},\n]"


def _number(value: Tensor) -> str:
    if not value.is_floating_point():
        return str(value.item())
    if value.dtype == torch.float64:
        return repr(value.item())
    return str(np.float32(value.item()))  # the shortest text that reads back as this number
