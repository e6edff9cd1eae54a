"""Claims about the output: the whole formula, and how outputs are related.

A relation is judged by the submission's own outputs, so that a wrong scale, say, is not reported
as a leak between sequences; whether the values are right is for the claims with an oracle.
"""

from __future__ import annotations

from grader.suite.compare import expect_close, expect_differs
from grader.suite.marks import points
from grader.suite.trial import Trial


@points(3)
def matches_the_formula(trial: Trial) -> None:
    """The whole formula, at several sizes, on scores that leave a mistake no room to hide."""
    every = (*trial.subject.sizes, trial.usual)
    calls = [trial.module(sizes).call(trial.input(sizes)) for sizes in every]
    training = trial.undropped().call(trial.input())
    for call in calls:
        expect_close(call.out, call.expected)
    expect_close(training.out, training.expected, "output in training, where nothing is dropped")


@points(1)
def batch_items_are_independent(trial: Trial) -> None:
    """What one sequence says must not reach another."""
    x = trial.input()
    other = x.clone()
    other[0] = trial.input()[0] * 3
    before, after = trial.outs([x, other])
    expect_differs(after[0], before[0], "the output of a sequence that changed")
    expect_close(after[1:], before[1:], "output of the sequences that did not change")


@points(1)
def follows_a_permutation(trial: Trial) -> None:
    """Without positions, tokens in another order give the same outputs in that order."""
    x = trial.input()
    order = trial.draw.order(trial.sizes.T)
    before, after = trial.outs([x, x[..., order, :].contiguous()])
    expect_differs(before[..., order, :], before, "the outputs of different tokens")
    expect_close(after, before[..., order, :], "output for tokens in another order")
