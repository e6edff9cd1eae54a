"""Situations of every grading, beside the covering array: each shows mistakes that may hide in it.

What alone meets in the other half of an array is not tried; these are conditions whose meeting
showed, alone, wrong answers of the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.suite.situations.factors import FactorModel, Row
from grader.suite.situations.levels import (
    AFTER_A_STEP,
    AFTER_ANOTHER_INPUT,
    DROPPING_NOTHING,
    EVALUATION,
    GRADIENT_WAY,
    NEAR_ONE_ANOTHER,
    ORDINARY,
    OVERFLOWING,
)

# The level that a row has for a factor of which it needs no level in particular.
USUAL_LEVELS = {
    "T": "small", "B": "2", "width": "small", "H": "several", "dtype": "float32",
    "mode": EVALUATION, "history": "first call",
}  # fmt: skip
SIZES = ("T", "S", "B", "width", "H")  # factors that have other levels here as well
WITH_GRADIENTS = {"gradients": "wanted", GRADIENT_WAY.name: "as usual"}
PLAIN_BFLOAT16 = {**WITH_GRADIENTS, "dtype": "bfloat16"}
LARGE_GRADIENTS = {
    **WITH_GRADIENTS, GRADIENT_WAY.name: "times 65536", "history": AFTER_ANOTHER_INPUT,
}  # fmt: skip
AFTER_TRAINING = {
    **WITH_GRADIENTS, "T": "2", "S": "about 128", "width": "square", "dtype": "float64",
    "x": NEAR_ONE_ANOTHER, "mode": DROPPING_NOTHING, "history": AFTER_A_STEP,
}  # fmt: skip
LARGE = {**WITH_GRADIENTS, "x": OVERFLOWING, "T": "about 32", "B": "more"}


def with_telling_rows(model: FactorModel) -> FactorModel:
    """Return a model with rows added that are tried at every seed."""
    levels = {factor.name: factor.levels for factor in model.factors}
    wanted = [PLAIN_BFLOAT16, LARGE_GRADIENTS, AFTER_TRAINING, *([LARGE] if "x" in levels else [])]
    return replace(model, extremes=tuple(row_of(levels, one) for one in wanted))


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
        found[name] = level if level in some or name in SIZES else some[0]
    return found
