"""Situations beyond the covering array: equal sizes, far larger ones, and what tells most."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from grader.attention.situations.dropout import DROPPING
from grader.attention.situations.masks import (
    MASK_DTYPE,
    MASK_FACTORS,
    MASK_PATTERN,
    MASK_SHAPE,
    MASK_VALUES,
)
from grader.suite.situations.factors import FactorModel
from grader.suite.situations.telling import (
    AFTER_TRAINING,
    LARGE_GRADIENTS_LATER,
    PLAIN_BFLOAT16,
    REFILLED,
    TRAINING_FIRST,
    USUAL,
    USUAL_TRAINING,
    WITH_GRADIENTS,
    WITHOUT_GRADIENTS,
    large_in_each_dtype,
    row_of,
)
from grader.suite.sizes import Sizes

MAX_FEATURES = 1100  # in any situation
MAX_PARAMETERS = 4_000_000  # single numbers; more take too much time and memory
CAUSAL_MASK = dict(
    zip((MASK_SHAPE.name, *(factor.name for factor in MASK_FACTORS)),
        ("(T, T)", "bool", "ones", "causal", "by position"), strict=True)
)  # fmt: skip
PADDING_MASK = CAUSAL_MASK | {MASK_SHAPE.name: "(B, 1, T)"}
RANDOM_MASK = CAUSAL_MASK | {MASK_PATTERN.name: "random"}
MANY_SEQUENCES = {**WITH_GRADIENTS, "B": "above 64", "H": "above 8", "dtype": "float64"}
# An axis that is recognised by its size may be taken for another one where sizes are equal.
EQUAL_SIZES = {
    **WITH_GRADIENTS, "T": "small", "S": "as T", "B": "as T", "width": "as T", "E": "as C",
    "H": "one",
}  # fmt: skip
EQUAL_SIZES_MASKS = ("(T, T)", "(B, 1, T)", "(B, T, 1)")
ROUND_SIZES = (
    {**WITH_GRADIENTS, "T": "192", "S": "as T"},
    {**LARGE_GRADIENTS_LATER, "T": "above 192", "S": "as T"},
    {**AFTER_TRAINING, "B": "16"},
)
MIXED_MASK = {**WITH_GRADIENTS, **RANDOM_MASK, MASK_DTYPE.name: "int64", MASK_VALUES.name: "mixed"}
# More than 2**19 scores; more than 2,048 tokens and 2**18 numbers. With both at once, what an
# answer holds for each score and feature would exceed its memory.
MANY_SCORES = {**WITHOUT_GRADIENTS, "B": "8", "T": "257", "S": "as T", "H": "one"}
MANY_TOKENS = {**WITHOUT_GRADIENTS, "B": "64", "T": "33", "width": "above 127", "H": "one"}
MANY_FEATURES = {**WITHOUT_GRADIENTS, "T": "2", "width": "above 1024", "H": "one"}
LONG_DROPPING = {**WITH_GRADIENTS, "mode": DROPPING, "T": "above 128", "H": "one"}


def with_extremes(contract: Any, model: FactorModel) -> FactorModel:
    """Return a contract's model with extreme rows added, which are tried at every seed.

    A row has a level for each factor, and so describes one situation.
    """
    levels = {factor.name: factor.levels for factor in model.factors}
    masked = MASK_SHAPE.name in levels
    many = MANY_SEQUENCES | (PADDING_MASK if masked else {})
    masks = (
        [RANDOM_MASK | {MASK_SHAPE.name: shape} for shape in EQUAL_SIZES_MASKS] if masked else [{}]
    )
    equal = [EQUAL_SIZES | mask for mask in masks]
    equal[0] |= {"H": levels.get("H", ("one",))[-1]}
    wanted = [many, *equal, *ROUND_SIZES, MANY_SCORES, MANY_TOKENS, PLAIN_BFLOAT16]
    drops = {"mode": DROPPING} if DROPPING in levels.get("mode", ()) else {}
    plain = [*large_in_each_dtype(), REFILLED, USUAL, USUAL_TRAINING | drops, TRAINING_FIRST]
    wanted += [one | CAUSAL_MASK if masked else one for one in plain]
    wanted += [MIXED_MASK] if masked else []
    if _count_parameters(contract) < MAX_PARAMETERS:
        wanted.append(MANY_FEATURES)
    if drops:
        wanted.append(LONG_DROPPING | (CAUSAL_MASK if masked else {}))
    return replace(model, extremes=tuple(row_of(levels, one) for one in wanted))


def _count_parameters(contract: Any) -> int:
    """Return how many numbers the parameters hold at ``MAX_FEATURES`` features."""
    wide = {letter: MAX_FEATURES for letter in "CE" if letter in contract.sizes[0]}
    sizes = contract.fit(Sizes(**{**contract.sizes[0], **wide}))
    shapes = contract.parameters(sizes).values() if contract.parameters else ()
    return sum(math.prod(shape) for shape in shapes)
