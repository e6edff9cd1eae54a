"""Finds random inputs at which rounding cannot change what a check reads off an output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from grader.sandbox.null import NullSession
from grader.suite.calls import PlannedCall
from grader.suite.compare import CheckFailed
from grader.suite.contract import Contract
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.oracle import Weights
from grader.suite.right_results import Inputs
from grader.suite.sizes import Sizes

# Rounding noise, relative to the largest value: several times the error of right answers.
NOISE_BY_DTYPE = {torch.float32: 2e-5, torch.float64: 1e-9, torch.bfloat16: 4e-3}
NOISES_PER_DRAW = 2  # the output has to be read correctly under each
MAX_TRIES = 20  # draws, after which the check is skipped


class Drawn(NamedTuple):
    """Everything that one call of a submission is made with.

    Attributes:
        changes: Constructor arguments beside those that the contract derives from the sizes.
        dtype: Dtype of the module and its inputs.
    """

    sizes: Sizes
    weights: Weights
    inputs: Inputs
    changes: Mapping[str, Any] = {}
    dtype: torch.dtype = torch.float32

    def planned(self, contract: Contract) -> PlannedCall:
        """Plan the call without a submission, so that its right output can be computed."""
        nobody: Any = NullSession()
        module = Harness(contract, nobody, Draw(0), {}).module(self.sizes, self.weights)
        return module.call(self.inputs)


def readable(
    harness: Harness, draw: Callable[[], Drawn], read: Callable[[PlannedCall, Tensor], object]
) -> Drawn:
    """Draw until the right output is read correctly even with rounding noise added to it.

    Skip the check if that takes more than ``MAX_TRIES`` draws.

    Args:
        harness: Provides the contract and draws the noise.
        draw: Draws what the call is made with.
        read: Reads an output of that call, and raises ``CheckFailed`` if what it reads is wrong.
    """
    for _ in range(MAX_TRIES):
        drawn = draw()
        call = drawn.planned(harness.contract)
        if is_readable(harness.draw, call.expected, drawn.dtype, partial(read, call)):
            return drawn
    pytest.skip(f"in {MAX_TRIES} draws rounding could have decided what comes; another seed may do")


def is_readable(
    draw: Draw, right: Tensor, dtype: torch.dtype, read: Callable[[Tensor], object]
) -> bool:
    """Return whether a right output is still read correctly with rounding noise added to it.

    Args:
        draw: Draws the noise.
        right: The right output, in float64.
        dtype: Dtype in which the submission will compute the output.
        read: Reads an output, and raises ``CheckFailed`` if what it reads is wrong.
    """
    try:
        for _ in range(NOISES_PER_DRAW):
            noise = draw.normal(*right.shape).clamp(-2, 2).double()
            read(right + NOISE_BY_DTYPE[dtype] * right.abs().max() * noise)
    except CheckFailed:
        return False
    return True
