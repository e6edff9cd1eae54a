"""Situations beyond the covering array: with equal sizes, or with one far larger than usual."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.attention.situations.factors import DROPPING, MASK_FACTORS, MASK_PATTERN, MASK_SHAPE
from grader.suite.situations.factors import ABSENT, FactorModel, Row
from grader.suite.situations.levels import EVALUATION, GRADIENT_WAY, NO_GRADIENTS, ORDINARY
from grader.suite.sizes import Sizes

MAX_FEATURES = 1100  # in any situation
MAX_PARAMETERS = 4_000_000  # single numbers; more take too much time and memory
# The level that an extreme row has for a factor of which it needs no level in particular.
USUAL_LEVELS = {
    "T": "small", "B": "2", "width": "small", "H": "several", "dtype": "float32",
    "mode": EVALUATION, "history": "first call", "method": "forward", MASK_SHAPE.name: "none",
    **{factor.name: ABSENT for factor in MASK_FACTORS},
}  # fmt: skip
WITH_GRADIENTS = {"gradients": "wanted", GRADIENT_WAY.name: "as usual"}
WITHOUT_GRADIENTS = {"gradients": NO_GRADIENTS[0], GRADIENT_WAY.name: ABSENT}
CAUSAL_MASK = dict(
    zip((MASK_SHAPE.name, *(factor.name for factor in MASK_FACTORS)),
        ("(T, T)", "bool", "ones", "causal", "by position"), strict=True)
)  # fmt: skip
PADDING_MASK = CAUSAL_MASK | {MASK_SHAPE.name: "(B, 1, T)"}
RANDOM_MASK = CAUSAL_MASK | {MASK_PATTERN.name: "random"}
MANY_SEQUENCES = {**WITH_GRADIENTS, "B": "above 64", "H": "above 8", "dtype": "float64"}
# An axis that is recognised by its size may be taken for another one where sizes are equal.
EQUAL_SIZES = {**WITH_GRADIENTS, "T": "small", "B": "as T", "width": "as T", "H": "one"}
EQUAL_SIZES_MASKS = ("(T, T)", "(B, 1, T)", "(B, T, 1)")
ROUND_SIZES = (
    {**WITH_GRADIENTS, "T": "192"},
    {**WITH_GRADIENTS, "T": "above 192"},
    {**WITH_GRADIENTS, "T": "2", "B": "16"},
)
# More than 2**19 scores; more than 2,048 tokens and 2**18 numbers. With both at once, what an
# answer holds for each score and feature would exceed its memory.
MANY_SCORES = {**WITHOUT_GRADIENTS, "B": "8", "T": "257", "H": "one"}
MANY_TOKENS = {**WITHOUT_GRADIENTS, "B": "64", "T": "33", "width": "above 127", "H": "one"}
MANY_FEATURES = {**WITHOUT_GRADIENTS, "T": "2", "width": "above 1024", "H": "one"}
LONG_DROPPING = {**WITH_GRADIENTS, "mode": DROPPING, "T": "above 128", "H": "one"}


def with_extremes(contract: Any, model: FactorModel) -> FactorModel:
    """Return a contract's model with extreme rows added: with equal sizes, or far larger ones.

    A row has a level for each factor, and so describes one situation.
    """
    levels = {factor.name: factor.levels for factor in model.factors}
    masked = MASK_SHAPE.name in levels
    many = MANY_SEQUENCES | (PADDING_MASK if masked else {})
    masks = (
        [RANDOM_MASK | {MASK_SHAPE.name: shape} for shape in EQUAL_SIZES_MASKS] if masked else [{}]
    )
    equal = [EQUAL_SIZES | mask for mask in masks]
    wanted = [many, *equal, *ROUND_SIZES, MANY_SCORES, MANY_TOKENS]
    if _count_parameters(contract) < MAX_PARAMETERS:
        wanted.append(MANY_FEATURES)
    if DROPPING in levels.get("mode", ()):
        wanted.append(LONG_DROPPING | (CAUSAL_MASK if masked else {}))
    return replace(model, extremes=tuple(_row(levels, one) for one in wanted))


def _count_parameters(contract: Any) -> int:
    """Return how many numbers the parameters hold at ``MAX_FEATURES`` features."""
    wide = {letter: MAX_FEATURES for letter in "CE" if letter in contract.sizes[0]}
    sizes = contract.fit(Sizes(**{**contract.sizes[0], **wide}))
    shapes = contract.parameters(sizes).values() if contract.parameters else ()
    return sum(math.prod(shape) for shape in shapes)


def _row(levels: Mapping[str, tuple[str, ...]], wanted: Row) -> Row:
    """Return a level for each of the model's factors: the wanted one, or else a usual one."""
    usual = {name: ORDINARY if ORDINARY in some else some[0] for name, some in levels.items()}
    return {name: wanted.get(name, USUAL_LEVELS.get(name, usual[name])) for name in levels}
