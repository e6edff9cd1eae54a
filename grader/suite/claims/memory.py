"""Claims about memory: what is made on the way to an output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.suite.calls import Call
from grader.suite.compare import expect
from grader.suite.contract import Sizes
from grader.suite.harness import Harness
from grader.wire.messages import Copies

PART = 8  # of the numbers, which a copy has at least: one sequence's, one head's
WHOLE = 3  # times as many, which it has at most: keys, values and something beside them


def makes_no_copies(
    harness: Harness,
    what: str,
    every: Sequence[Sizes],
    numbers: Callable[[Sizes], int],
    times: Callable[[Sizes], int],
) -> None:
    """No tensor that is made in a call holds the same numbers so many times each.

    It is known by what it holds, wherever that comes from: by how many different numbers there
    are, and how often each. Another thing that a right answer may hold as often has to be fewer
    than an eighth of these numbers, or more than three times as many, at these sizes.

    Args:
        harness: Plans the calls, in evaluation and in training.
        what: The numbers that are not to be copied, in words.
        every: The sizes to be tried.
        numbers: How many of them there are.
        times: How often a copy would hold each; at least 3.
    """
    calls: list[Call] = []
    for sizes in every:
        count = numbers(sizes)
        asked = Copies(times(sizes), count // PART, count * WHOLE)
        inputs = harness.inputs(sizes)
        grad_output = harness.draw.normal(*sizes.shape(_letters(harness)))
        calls.append(harness.module(sizes).call(inputs, copies=asked))
        training = harness.in_training(sizes)
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
