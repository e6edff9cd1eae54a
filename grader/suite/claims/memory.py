"""Claims about memory: which tensors a call makes on the way to its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from grader.suite.calls import PlannedCall
from grader.suite.claims.robustness import cast
from grader.suite.compare import expect
from grader.suite.harness import Harness
from grader.suite.sizes import Sizes
from grader.wire.messages import CopyCriteria

SMALLEST_COPY_DIVISOR = 8  # a copy holds an eighth of the numbers or more: those of one head, say
MAX_COPY_FACTOR = 3  # on the numbers, that a copy holds: keys, values and something else


def same_numbers(count: int, times: int) -> CopyCriteria:
    """Return what counts as a copy: ``times`` repetitions of about ``count`` different numbers."""
    return CopyCriteria(
        times, count // SMALLEST_COPY_DIVISOR, min(count * MAX_COPY_FACTOR, count * times - 1)
    )


def makes_no_copies(
    harness: Harness,
    what: str,
    every: Sequence[tuple[Sizes, torch.dtype]],
    numbers: Callable[[Sizes], int],
    times: Callable[[Sizes], int],
) -> None:
    """Fail the check if a call makes a tensor that holds the same numbers many times each.

    A copy is recognised by its contents, wherever they come from: by how many different numbers it
    holds, and how often each. If a right answer holds other numbers as often, these have to be
    fewer than an eighth of the numbers, or at least three times as many, at the sizes tried.

    Args:
        harness: Plans the calls, in evaluation and in training.
        what: The numbers that must not be copied, in words.
        every: Sizes to try, each in a dtype. In bfloat16 many numbers are equal by chance, so use
            few of them, or a copy that would hold each very often.
        numbers: Returns how many of these numbers there are at given sizes.
        times: Returns how often a copy would hold each at given sizes; at least 2.
    """
    calls: list[PlannedCall] = []
    for sizes, dtype in every:
        asked = same_numbers(numbers(sizes), times(sizes))
        inputs = cast(harness.inputs(sizes), dtype)
        grad_output = harness.draw.normal(*sizes.shape(harness.contract.out_shape)).to(dtype)
        module = harness.module(sizes).to(dtype)
        calls.append(module.call(inputs, copies=asked))
        training = harness.in_training(sizes).to(dtype)
        calls.append(training.call(inputs, grad_output=grad_output, copies=asked))
    harness.ask()
    for call in calls:
        _ = call.outs
        often = times(call.module.sizes)
        expect(
            not call.copied,
            f"{what}: an intermediate tensor holds {call.copied} numbers {often} times each "
            f"({call.module.sizes}); expected no copies, by `repeat`, `repeat_interleave`, a "
            "`reshape` after `expand`, or a matmul that broadcasts",
        )
