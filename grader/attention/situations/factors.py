"""The factors of attention beyond those of any contract: masks and dropout."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from grader.suite.situations.factors import ABSENT, Factor, FactorModel, Row, Rule, Wish
from grader.suite.situations.levels import (
    DROPPING_NOTHING,
    DTYPE,
    EVALUATION,
    LONG_LEVELS,
    MODE,
    OVERFLOWING,
    first_x_like_input,
    general_factors,
)
from grader.suite.situations.modelling import FACTOR_TRIPLES, RULES, factors_of_variants, wishes

DROPPING = "training, dropping"
FULL_RANK = ("ordinary", "with a constant token")  # levels of x that show which weights were kept
MODE_WITH_DROPOUT = Factor(MODE.name, (EVALUATION, DROPPING_NOTHING, DROPPING))
MASK_SHAPE = Factor(
    "mask",
    (
        "none", "()", "(1,)", "(T,)", "(1, T)", "(T, T)", "(1, 1, T)", "(B, 1, T)", "(B, T, 1)",
        "(B, 1, 1)", "(B, T, T)",
    ),
)  # fmt: skip
MASK_DTYPE = Factor(
    "dtype of the mask",
    (ABSENT, "bool", "uint8", "int64", "another int", "float32", "float64", "a half float"),
)
MASK_VALUES = Factor("numbers in the mask", (ABSENT, "ones", "tiny", "negative", "large", "mixed"))
MASK_PATTERN = Factor(
    "pattern of the mask", (ABSENT, "all visible", "one visible", "causal", "random")
)
MASK_GIVEN = Factor("mask given", (ABSENT, "by position", "by name"))
MASK_FACTORS = (MASK_DTYPE, MASK_VALUES, MASK_PATTERN, MASK_GIVEN)
MASK_WISH: Wish = (
    MASK_PATTERN.name, "random", lambda row: row["pattern of the mask"] == "all visible"
)  # fmt: skip


def model_of(contract: Any) -> FactorModel:
    """Return the model of a contract's situations: which factors vary, and which levels may meet.

    The factors that every contract has come first.
    """
    found = general_factors(contract, MODE_WITH_DROPOUT if contract.dropout else MODE)
    if contract.methods:
        found.append(Factor("method", ("forward", *contract.methods)))
    more, rules = factors_of_variants(contract)
    found += more
    if contract.masks:
        found += [MASK_SHAPE, *MASK_FACTORS]
    triples = ((MODE.name, MASK_PATTERN.name, DTYPE.name), *FACTOR_TRIPLES)
    wanted = (*wishes(first_x_like_input(contract)), MASK_WISH)
    return FactorModel(tuple(found), (*ATTENTION_RULES, *RULES, *rules), triples, wanted)


def _goes_with_a_mask(row: Row, name: str) -> bool:
    return (row[MASK_SHAPE.name] == "none") == (row[name] == ABSENT)


def _are_of_one_mask(row: Row, one: str, other: str) -> bool:
    return (row[one] == ABSENT) == (row[other] == ABSENT)


ATTENTION_RULES: tuple[Rule, ...] = (
    *(
        ((MASK_SHAPE.name, factor.name), partial(_goes_with_a_mask, name=factor.name))
        for factor in MASK_FACTORS
    ),
    *(
        ((one.name, other.name), partial(_are_of_one_mask, one=one.name, other=other.name))
        for one, other in itertools.combinations(MASK_FACTORS, 2)
    ),
    # An output shows which weights were kept only if the values are linearly independent.
    (("mode", "x"), lambda row: row["mode"] != DROPPING or row["x"] in (*FULL_RANK, OVERFLOWING)),
    (("mode", "T"), lambda row: row["mode"] != DROPPING or row["T"] not in LONG_LEVELS),
)
