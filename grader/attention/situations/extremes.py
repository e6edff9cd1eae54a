"""Situations beyond the covering array: with equal sizes, or with one far larger than usual."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.attention.situations.factors import DROPPING, MASK, MASK_PATTERN, OF_MASKS
from grader.suite.contract import Sizes
from grader.suite.situations.factors import NONE, Model, Row
from grader.suite.situations.levels import EVALUATION, NO_GRADIENTS, ORDINARY, WAY

WIDEST = 1100  # features, the most that a situation has
MOST = 4_000_000  # numbers in the parameters, above which they take too much time and memory
# The level that an extreme row has for a factor of which it needs no level in particular.
USUAL = {
    "T": "small", "B": "2", "width": "small", "heads": "several", "dtype": "float32",
    "mode": EVALUATION, "history": "first call", "method": "forward", MASK.name: "none",
    **{factor.name: NONE for factor in OF_MASKS},
}  # fmt: skip
LEARNING = {"gradients": "wanted", WAY.name: "as usual"}
WATCHING = {"gradients": NO_GRADIENTS[0], WAY.name: NONE}
CAUSAL = dict(
    zip((MASK.name, *(factor.name for factor in OF_MASKS)),
        ("(T, T)", "bool", "ones", "causal", "by position"), strict=True)
)  # fmt: skip
PADDED = CAUSAL | {MASK.name: "(B, 1, T)"}
RANDOM = CAUSAL | {MASK_PATTERN.name: "random"}
MANY_SEQUENCES = {**LEARNING, "B": "above 64", "heads": "above 8", "dtype": "float64"}
# An axis that is recognised by its size may be taken for another one where sizes are equal.
EQUAL_SIZES = {**LEARNING, "T": "small", "B": "as T", "width": "as T", "heads": "one"}
MASKS_THEN = ("(T, T)", "(B, 1, T)", "(B, T, 1)")
ROUND_SIZES = (
    {**LEARNING, "T": "192"}, {**LEARNING, "T": "above 192"}, {**LEARNING, "T": "2", "B": "16"},
)  # fmt: skip
# More than 2**19 scores; more than 2,048 tokens and 2**18 numbers. With both at once, what an
# answer holds for each score and feature would exceed its memory.
MANY_SCORES = {**WATCHING, "B": "8", "T": "257", "heads": "one"}
MANY_TOKENS = {**WATCHING, "B": "64", "T": "33", "width": "above 127", "heads": "one"}
MANY_FEATURES = {**WATCHING, "T": "2", "width": "above 1024", "heads": "one"}
DROPPING_FAR = {**LEARNING, "mode": DROPPING, "T": "above 128", "heads": "one"}


def with_extremes(contract: Any, model: Model) -> Model:
    """Return a contract's model with extreme rows added: with equal sizes, or far larger ones.

    A row has a level for each factor, and so describes one situation.
    """
    levels = {factor.name: factor.levels for factor in model.factors}
    masked = MASK.name in levels
    many = MANY_SEQUENCES | (PADDED if masked else {})
    masks = [RANDOM | {MASK.name: shape} for shape in MASKS_THEN] if masked else [{}]
    equal = [EQUAL_SIZES | mask for mask in masks]
    wanted = [many, *equal, *ROUND_SIZES, MANY_SCORES, MANY_TOKENS]
    if _numbers(contract) < MOST:
        wanted.append(MANY_FEATURES)
    if DROPPING in levels.get("mode", ()):
        wanted.append(DROPPING_FAR | (CAUSAL if masked else {}))
    return replace(model, extremes=tuple(_row(levels, one) for one in wanted))


def _numbers(contract: Any) -> int:
    """Return how many numbers the parameters hold at ``WIDEST`` features."""
    wide = {letter: WIDEST for letter in "CE" if letter in contract.sizes[0]}
    sizes = contract.fit(Sizes(**{**contract.sizes[0], **wide}))
    shapes = contract.parameters(sizes).values() if contract.parameters else ()
    return sum(math.prod(shape) for shape in shapes)


def _row(levels: Mapping[str, tuple[str, ...]], wanted: Row) -> Row:
    """Return a level for each of the model's factors: the wanted one, or else a usual one."""
    usual = {name: ORDINARY if ORDINARY in some else some[0] for name, some in levels.items()}
    return {name: wanted.get(name, USUAL.get(name, usual[name])) for name in levels}
