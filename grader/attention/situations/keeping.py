"""Which weights a submission kept where some are dropped, read off its output."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.attention.maps import mixing, recover_attention
from grader.suite.calls import Call
from grader.suite.draw import Draw
from grader.suite.readable import NOISE

# Of the whole weight of a query, what may be read wrongly: it shows neither in an output nor in a
# gradient, as these are compared.
MISREAD = {torch.float32: 3e-3, torch.float64: 1e-6}
ROWS = 4  # outputs of each sequence, whose rounding is drawn


def kept_in(call: Call, rate: float, still: Tensor, out: Tensor) -> Tensor:
    """What each weight was multiplied by: 0, or 1/(1 - rate), whichever is nearer, (…, T, S).

    Args:
        call: With one head.
        rate: Of dropout.
        still: The right output where nothing is dropped.
        out: Where it is.
    """
    mine, right = recover_attention(call, out, still)
    whole = right / (1 - rate)
    kept = (mine - whole).abs() < mine.abs()
    return torch.where(kept, 1 / (1 - rate), 0.0).squeeze(-2)


def tells_what_is_kept(call: Call, dtype: torch.dtype, still: Tensor, draw: Draw) -> bool:
    """Whether an output tells which weights were kept, whatever it is rounded by.

    A weight that is read wrongly is smaller than what the rounding of the output makes of it. In
    bfloat16, where outputs are compared by what our own is off by and gradients roughly, it is not
    asked.

    Args:
        call: As ``kept_in`` has it.
        dtype: In which it is computed.
        still: As ``kept_in`` has it.
        draw: Draws the rounding.
    """
    if dtype not in MISREAD:
        return True
    _, back = mixing(call)
    noise = draw.normal(*back.shape[:-2], ROWS, back.size(-2)).clamp(-2, 2).double()
    largest = still.nan_to_num().abs().max()  # NaN where a query sees nothing
    off = NOISE[dtype] * largest * (noise @ back).abs().max()
    return bool(off < MISREAD[dtype])
