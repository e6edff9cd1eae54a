"""Claims about the output: the whole formula, and how outputs are related.

A relation is judged by the submission's own outputs, so that a wrong scale, say, is not reported
as a leak between sequences; the claims with an oracle say whether the values are right.
"""

from __future__ import annotations

from grader.suite.compare import expect_all_close, expect_close, expect_differs
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.situations.implied import backed_by_situations

LOUD = 3000  # times a sequence, beside which what is not its own would be rounded away


@points(3)
@backed_by_situations
def matches_the_formula(harness: Harness) -> None:
    """The whole formula, at several sizes, on numbers where no mistake can hide.

    Example:
        test_output_matches_the_formula = claims.matches_the_formula
    """
    every = (*harness.contract.sizes, harness.sizes.usual())
    calls = [harness.module(sizes).call(harness.inputs(sizes)) for sizes in every]
    training = harness.in_training().call(harness.inputs())
    harness.ask()
    for call in calls:
        expect_all_close(call.outs, call.right_outputs)
    expect_all_close(training.outs, training.right_outputs, "in training, where nothing is dropped")


@points(2)
@backed_by_situations
def matches_the_formula_with_everything_given(harness: Harness) -> None:
    """Optional inputs change the output when they are given.

    Example:
        test_output_with_everything_given = claims.matches_the_formula_with_everything_given
    """
    every = (*harness.contract.sizes, harness.sizes.usual())
    calls = [harness.module(sizes).call(harness.every_input(sizes)[-1]) for sizes in every]
    harness.ask()
    for call in calls:
        expect_all_close(call.outs, call.right_outputs)


@points(1)
@needs(letters="B")
def batch_items_are_independent(harness: Harness) -> None:
    """Nothing in one sequence may reach another.

    Example:
        test_batch_items_are_independent = claims.batch_items_are_independent
    """
    inputs, fresh = harness.inputs(), harness.inputs()
    other = {name: value.clone() for name, value in inputs.items()}
    for name in _along(harness, "B"):
        factor = LOUD if fresh[name].is_floating_point() else 1
        other[name][0] = fresh[name][0] * factor
    before, after = harness.module().calls([inputs, other])
    harness.ask()
    for name, old in before.outs.items():
        new = after.outs[name]
        expect_differs(new[0], old[0], f"the {name} of a sequence that changed")
        expect_close(new[1:], old[1:], f"{name} of the sequences that did not change")


@points(1)
@needs(letters="T")
@backed_by_situations
def follows_a_permutation(harness: Harness) -> None:
    """Without positions, reordered tokens give the same outputs in the new order.

    Example:
        test_tokens_are_treated_alike = claims.follows_a_permutation
    """
    inputs = harness.inputs()
    order = harness.draw.order(harness.sizes.T)
    axes = _along(harness, "T")
    moved = {name: inputs[name].index_select(dim, order) for name, dim in axes.items()}
    before, after = harness.module().calls([inputs, {**inputs, **moved}])
    harness.ask()
    for name, old in before.outs.items():
        right = old.index_select(before.along("T")[name], order)
        expect_differs(right, old, f"the {name}s of different tokens")
        expect_close(after.outs[name], right, f"{name} for tokens in another order")


def _along(harness: Harness, letter: str) -> dict[str, int]:
    """Return the required inputs with an axis of this letter, and the index of that axis."""
    found = {}
    for name, spec in harness.contract.inputs.items():
        axes = harness.sizes.axes(spec.shape)
        if letter in axes and not spec.optional:
            found[name] = axes.index(letter)
    return found
