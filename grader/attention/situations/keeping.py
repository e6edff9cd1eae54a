"""Read off a submission's output which attention weights its dropout kept."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.attention.maps import recover_attention, unmixing
from grader.suite.calls import PlannedCall
from grader.suite.draw import Draw
from grader.suite.readable import NOISE_BY_DTYPE

# Share of a query's total weight that may be misread: it shows neither in an output nor in a
# gradient, by the tolerances with which these are compared.
MAX_MISREAD_SHARE = {torch.float32: 3e-3, torch.float64: 1e-6}
ROUNDING_DRAWS = 4  # of an output, for each sequence


def kept_factors(call: PlannedCall, rate: float, undropped: Tensor, out: Tensor) -> Tensor:
    """Return the factor by which dropout multiplied each weight, as read off an output, (…, T, S).

    The factor is 0 or 1/(1 - rate), whichever is nearer to what the output shows.

    Args:
        call: Call of an attention with one head.
        rate: Dropout rate.
        undropped: Right output where nothing is dropped.
        out: Output of the submission, where weights are dropped.
    """
    mine, right = recover_attention(call, out, undropped)
    whole = right / (1 - rate)
    kept = (mine - whole).abs() < mine.abs()
    return torch.where(kept, 1 / (1 - rate), 0.0).squeeze(-2)


def tells_what_is_kept(
    call: PlannedCall, dtype: torch.dtype, undropped: Tensor, draw: Draw
) -> bool:
    """Return whether an output shows which weights were kept, however it is rounded.

    Only weights smaller than the effect of the output's rounding are misread. In bfloat16 the
    result is always True: outputs are then compared by how far our own output is off, and gradients
    only roughly.

    Args:
        call: Call of an attention with one head.
        dtype: Dtype in which the output is computed.
        undropped: Right output where nothing is dropped.
        draw: Draws the rounding.
    """
    if dtype not in MAX_MISREAD_SHARE:
        return True
    _, back = unmixing(call)
    noise = draw.normal(*back.shape[:-2], ROUNDING_DRAWS, back.size(-2)).clamp(-2, 2).double()
    largest = undropped.nan_to_num().abs().max()  # NaN where a query sees nothing
    off = NOISE_BY_DTYPE[dtype] * largest * (noise @ back).abs().max()
    return bool(off < MAX_MISREAD_SHARE[dtype])
