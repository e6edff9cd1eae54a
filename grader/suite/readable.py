"""Draws that can be answered: rounding does not decide what a check reads off an output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from grader.sandbox.null import NullSession
from grader.suite.calls import Call, Inputs
from grader.suite.compare import CheckFailed
from grader.suite.contract import Contract, Sizes
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.oracle import Weights

# Of the largest value: several times what right answers are off by.
NOISE = {torch.float32: 2e-5, torch.float64: 1e-9, torch.bfloat16: 4e-3}
NOISES = 2  # of one draw; it has to be read rightly under each
TRIES = 20


class Drawn(NamedTuple):
    """What a call is to be made with.

    Attributes:
        changes: Arguments of the constructor beside those of the sizes.
        dtype: Of module and inputs.
    """

    sizes: Sizes
    weights: Weights
    inputs: Inputs
    changes: Mapping[str, Any] = {}
    dtype: torch.dtype = torch.float32

    def planned(self, contract: Contract) -> Call:
        """The call, planned for nobody: what is right can be computed."""
        nobody: Any = NullSession()
        module = Harness(contract, nobody, Draw(0), {}).module(self.sizes, self.weights)
        return module.call(self.inputs)


def readable(
    harness: Harness, draw: Callable[[], Drawn], read: Callable[[Call, Tensor], object]
) -> Drawn:
    """Draw until what is read off the right output is right with rounding noise in it, too.

    Args:
        harness: Draws the noise.
        draw: Draws what a call is made with.
        read: Reads an output of that call, and raises ``CheckFailed`` where it is not right.
    """
    for _ in range(TRIES):
        drawn = draw()
        call = drawn.planned(harness.contract)
        if is_readable(harness.draw, call.expected, drawn.dtype, partial(read, call)):
            return drawn
    pytest.skip(f"in {TRIES} draws rounding could have decided what comes; another seed may do")


def is_readable(
    draw: Draw, right: Tensor, dtype: torch.dtype, read: Callable[[Tensor], object]
) -> bool:
    """Whether a right output is read rightly under rounding noise.

    Args:
        draw: Draws the noise.
        right: The output, in float64.
        dtype: In which it will be computed.
        read: Raises ``CheckFailed`` where what it reads is not right.
    """
    try:
        for _ in range(NOISES):
            noise = draw.normal(*right.shape).clamp(-2, 2).double()
            read(right + NOISE[dtype] * right.abs().max() * noise)
    except CheckFailed:
        return False
    return True
