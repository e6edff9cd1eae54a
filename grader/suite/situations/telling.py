"""Situations of every grading, beside the covering array: each shows mistakes that may hide in it.

What alone meets in the other half of an array is not tried; these are conditions whose meeting
showed, alone, wrong answers of the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.suite.situations.dtype import DTYPE
from grader.suite.situations.factors import ABSENT, FactorModel, Row
from grader.suite.situations.gradients import (
    GRADIENT_WAY,
    INNER,
    OF_PARAMETERS,
    OF_THE_SUM,
    UNDER_NO_GRAD,
)
from grader.suite.situations.history import (
    AFTER_A_STEP,
    AFTER_ANOTHER_INPUT,
    FILLED_ANEW,
    FIRST_CALL,
)
from grader.suite.situations.mode import DROPPING_NOTHING, EVALUATION
from grader.suite.situations.tokens import NEAR_ONE_ANOTHER, ORDINARY, OVERFLOWING

# The level that a row has for a factor of which it needs no level in particular.
USUAL_LEVELS = {
    "T": "small", "S": "small", "B": "2", "width": "small", "E": "small", "H": "several",
    "dtype": "float32", "mode": EVALUATION, "history": FIRST_CALL,
}  # fmt: skip
# Factors that have other levels here as well.
FREER = ("T", "S", "B", "width", "H", GRADIENT_WAY.name)
WITH_GRADIENTS = {"gradients": "wanted", GRADIENT_WAY.name: "as usual"}
WITHOUT_GRADIENTS = {"gradients": UNDER_NO_GRAD, GRADIENT_WAY.name: ABSENT}
LARGE_GRADIENTS = {"gradients": "wanted", GRADIENT_WAY.name: "times 65536"}
LARGE_GRADIENTS_LATER = LARGE_GRADIENTS | {"history": AFTER_ANOTHER_INPUT}
PLAIN_BFLOAT16 = LARGE_GRADIENTS | {"dtype": "bfloat16"}
AFTER_TRAINING = {
    **WITH_GRADIENTS, "T": "2", "S": "about 128", "width": "square", "dtype": "float64",
    "x": NEAR_ONE_ANOTHER, "mode": DROPPING_NOTHING, "history": AFTER_A_STEP,
}  # fmt: skip
# As most people use a layer: sizes that are powers of two, several of everything.
USUAL_SIZES = {
    "T": "32", "S": "as T", "B": "4", "width": "64", "H": "4", "groups": "several",
}  # fmt: skip
USUAL = USUAL_SIZES | {"gradients": "wanted", GRADIENT_WAY.name: OF_THE_SUM}
# As a network trains: a layer behind another one, and the first, whose input does not learn.
USUAL_TRAINING = {
    **USUAL_SIZES, **WITH_GRADIENTS, "T": "16", "mode": DROPPING_NOTHING, "gradients": INNER,
}  # fmt: skip
TRAINING_FIRST = USUAL_TRAINING | {"gradients": OF_PARAMETERS}
REFILLED = {**WITHOUT_GRADIENTS, "history": FILLED_ANEW}
LARGE = {
    **WITH_GRADIENTS, "x": OVERFLOWING, "memory": OVERFLOWING,
    "T": "about 32", "S": "as T", "B": "16", "width": "odd",
}  # fmt: skip


def with_telling_rows(model: FactorModel) -> FactorModel:
    """Return a model with rows added that are tried at every seed."""
    levels = {factor.name: factor.levels for factor in model.factors}
    wanted = [PLAIN_BFLOAT16, LARGE_GRADIENTS_LATER, AFTER_TRAINING, REFILLED]
    wanted += [USUAL, USUAL_TRAINING, TRAINING_FIRST]
    wanted += large_in_each_dtype() if "x" in levels else []
    return replace(model, extremes=tuple(row_of(levels, one) for one in wanted))


def large_in_each_dtype() -> list[dict[str, str]]:
    """Return rows with the largest scores: what overflows, does at other sizes in each dtype."""
    return [LARGE | {"dtype": dtype} for dtype in DTYPE.levels]


def row_of(levels: Mapping[str, tuple[str, ...]], wanted: Row) -> Row:
    """Return a level for each of a model's factors: the wanted one, if it has that, or a usual one.

    Args:
        levels: The levels of each factor, by the factor's name.
        wanted: The levels that are wanted.
    """
    found = {}
    for name, some in levels.items():
        usual = USUAL_LEVELS.get(name, ORDINARY if ORDINARY in some else some[0])
        level = wanted.get(name, usual)
        found[name] = level if level in some or name in FREER else some[0]
    return found
