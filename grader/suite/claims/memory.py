"""Claims about memory: what is made on the way to an output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from grader.suite.calls import Call
from grader.suite.claims.robustness import cast
from grader.suite.compare import expect
from grader.suite.contract import Sizes
from grader.suite.harness import Harness
from grader.wire.messages import Copies

PART = 8  # of the numbers, which a copy has at least: one sequence's, one head's
WHOLE = 3  # times as many, which it has at most: keys, values and something beside them


def same_numbers(count: int, times: int) -> Copies:
    """What a copy of so many numbers looks like; what they come from may be so often larger."""
    return Copies(times, count // PART, min(count * WHOLE, count * times - 1))


def makes_no_copies(
    harness: Harness,
    what: str,
    every: Sequence[tuple[Sizes, torch.dtype]],
    numbers: Callable[[Sizes], int],
    times: Callable[[Sizes], int],
) -> None:
    """No tensor that is made in a call holds the same numbers so many times each.

    It is known by what it holds, wherever that comes from: by how many different numbers there
    are, and how often each. Another thing that a right answer may hold as often has to be fewer
    than an eighth of these numbers, or three times as many and more, at these sizes.

    Args:
        harness: Plans the calls, in evaluation and in training.
        what: The numbers that are not to be copied, in words.
        every: What is to be tried: sizes, each in a dtype. In bfloat16 many numbers are the same
            by chance, so few of them, or a copy that holds each very often.
        numbers: How many of them there are.
        times: How often a copy would hold each; at least 2.
    """
    calls: list[Call] = []
    for sizes, dtype in every:
        asked = same_numbers(numbers(sizes), times(sizes))
        inputs = cast(harness.inputs(sizes), dtype)
        grad_output = harness.draw.normal(*sizes.shape(_letters(harness))).to(dtype)
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
            f"{what}: a tensor on the way holds {call.copied} numbers {often} times each "
            f"({call.module.sizes}); expected no copies, by `repeat`, `repeat_interleave`, a "
            "`reshape` after `expand`, or a matmul that broadcasts",
        )


def _letters(harness: Harness) -> str:
    return harness.contract.outputs[harness.contract.compared[0]] or ""
