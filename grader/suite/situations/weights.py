"""The factor weights: how large the numbers of a module's parameters are."""

from __future__ import annotations

from collections.abc import Callable, Collection

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.oracle import Weights
from grader.suite.situations.factors import Factor, Row
from grader.suite.sizes import Sizes

AS_DRAWN, LARGE = "as drawn", "large"
LARGE_WEIGHTS_FACTOR = 30  # by which large weights exceed the usual ones; x is divided by it


def factor_of(contract: Contract) -> Factor:
    """Return the factor for a module's weights, with the levels that its contract allows."""
    return WEIGHTS if contract.kinks is None else WEIGHTS_OF_KINKS


def draw_weights(harness: Harness, row: Row, sizes: Sizes) -> Weights:
    """Draw weights as large as the row says; for large ones, ``draw_x_like`` makes x smaller."""
    change = _CHANGES[row.get(WEIGHTS.name, AS_DRAWN)]
    return change(harness.weights(sizes), harness.contract.around_one)


def _small(drawn: Weights, gains: Collection[str]) -> Weights:
    small = {n: w * (0.1 if w.dim() > 1 or n in gains else 1) for n, w in drawn.items()}
    for name in {*gains} & small.keys():
        small[name][0] = 0  # many modules start with a gain of 0
    return small


def _large(drawn: Weights, gains: Collection[str]) -> Weights:
    return {n: w * (LARGE_WEIGHTS_FACTOR if w.dim() > 1 else 1) for n, w in drawn.items()}


def _with_biases_of_zero(drawn: Weights, gains: Collection[str]) -> Weights:
    return {n: w * (w.dim() > 1 or n in gains) for n, w in drawn.items()}


_CHANGES: dict[str, Callable[[Weights, Collection[str]], Weights]] = {
    AS_DRAWN: lambda drawn, gains: drawn,
    "small": _small,
    LARGE: _large,
    "with biases of zero": _with_biases_of_zero,
}
WEIGHTS = Factor("weights", tuple(_CHANGES))
WEIGHTS_OF_KINKS = Factor(WEIGHTS.name, WEIGHTS.levels[:-1])  # biases of zero may lie at a kink
