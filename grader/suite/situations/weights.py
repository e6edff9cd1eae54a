"""The factor weights: how large the numbers of a module's parameters are."""

from __future__ import annotations

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.oracle import Weights
from grader.suite.situations.factors import Factor, Row
from grader.suite.sizes import Sizes

WEIGHTS = Factor("weights", ("as drawn", "small", "large", "with biases of zero"))
WEIGHTS_OF_KINKS = Factor(WEIGHTS.name, WEIGHTS.levels[:-1])  # biases of zero may lie at a kink
LARGE_WEIGHTS_FACTOR = 30  # by which large weights exceed the usual ones; x is divided by it


def factor_of(contract: Contract) -> Factor:
    """Return the factor for a module's weights, with the levels that its contract allows."""
    return WEIGHTS if contract.kinks is None else WEIGHTS_OF_KINKS


def draw_weights(harness: Harness, row: Row, sizes: Sizes) -> Weights:
    """Draw weights as large as the row says; for large ones, ``draw_x_like`` makes x smaller."""
    drawn, gains = harness.weights(sizes), harness.contract.around_one
    match row.get("weights"):
        case "with biases of zero":
            return {n: w * (w.dim() > 1 or n in gains) for n, w in drawn.items()}
        case "small":
            small = {n: w * (0.1 if w.dim() > 1 or n in gains else 1) for n, w in drawn.items()}
            for name in gains & small.keys():
                small[name][0] = 0  # many modules start with a gain of 0
            return small
        case "large":
            return {n: w * (LARGE_WEIGHTS_FACTOR if w.dim() > 1 else 1) for n, w in drawn.items()}
    return drawn
