"""Claims about what comes out, against the float64 oracle."""

from __future__ import annotations

from grader.suite.compare import expect_close
from grader.suite.marks import points
from grader.suite.subject import Trial


@points(3)
def matches_the_formula(trial: Trial) -> None:
    """The output is the oracle's, with the module's own weights, at several sizes."""
    for sizes in trial.subject.sizes:
        module = trial.module(sizes)
        x = trial.input(sizes)
        expect_close(trial.run(module, x, sizes=sizes), trial.expected(module, x, sizes=sizes))


@points(1)
def batch_items_are_independent(trial: Trial) -> None:
    """Another first sequence changes nothing in the others."""
    module = trial.module()
    x = trial.input()
    other = x.clone()
    other[0] = trial.input()[0] * 3
    trial.run(module, x)
    expect_close(
        trial.run(module, other)[1:],
        trial.expected(module, x)[1:],
        "output of the unchanged sequences",
    )


@points(1)
def follows_a_permutation(trial: Trial) -> None:
    """Tokens in another order give the same outputs in that order."""
    module = trial.module()
    x = trial.input()
    order = trial.draw.order(trial.sizes.T)
    expect_close(
        trial.run(module, x[..., order, :].contiguous()),
        trial.expected(module, x)[..., order.cpu(), :],
        "output for permuted tokens",
    )
