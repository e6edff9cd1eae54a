"""The factors of attention, and their levels."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from grader.suite.situations.factors import NONE, Factor, Model, Row, Rule, Wish

DROPPING = "training, dropping"
STILL = "training, dropping nothing"
EVALUATION = "evaluation"
FULL_RANK = ("ordinary", "with a constant token")  # x whose values tell which weights were kept
LONG = ("about 128", "about 256")

LENGTHS = tuple(f"about {2**n}" for n in range(2, 9))
T = Factor("T", ("1", "2", *LENGTHS), like=False)
BATCH = Factor("B", ("1", "2", "more"), like=False)
BATCH_OR_NOT = Factor("B", ("none", "1", "2", "more"), like=False)
WIDTH = Factor("width", ("1", "small", "odd", "square", "large"), like=False)
HEADS = Factor("heads", ("one", "several", "as many as features"), like=False)
X = Factor(
    "x",
    (
        "ordinary", "with a constant token", "with a token of zeros", "of equal tokens", "of zeros",
        "very large", "with a token far above the rest", "very small",
        "of tokens near one another, far from 0",
    ),
    like=False,
)  # fmt: skip
LAYOUT = Factor("layout of x", ("contiguous", "transposed", "strided", "expanded"), like=False)
DTYPE = Factor("dtype", ("float32", "float64", "bfloat16"), like=False)
MODE = Factor("mode", (EVALUATION, STILL), like=False)
MODE_WITH_DROPOUT = Factor("mode", (EVALUATION, STILL, DROPPING), like=False)
GRADIENTS = Factor("gradients", ("wanted", "of the parameters alone", "under no_grad"), like=False)
HISTORY = Factor(
    "history",
    (
        "first call",
        "after another input",
        "after training",
        "after other weights",
        "before another input",
    ),
    like=False,
)
MASK = Factor(
    "mask",
    (
        "none", "()", "(1,)", "(T,)", "(1, T)", "(T, T)", "(1, 1, T)", "(B, 1, T)", "(B, T, 1)",
        "(B, 1, 1)", "(B, T, T)",
    ),
    like=False,
)  # fmt: skip
MASK_DTYPE = Factor(
    "dtype of the mask",
    (NONE, "bool", "uint8", "int64", "another int", "float32", "float64", "a half float"),
    like=False,
)
MASK_VALUES = Factor("numbers in the mask", (NONE, "ones", "tiny", "negative", "large"), like=False)
MASK_PATTERN = Factor(
    "pattern of the mask", (NONE, "all visible", "one visible", "causal", "random"), like=False
)
MASK_GIVEN = Factor("mask given", (NONE, "by position", "by name"), like=False)
OF_MASKS = (MASK_DTYPE, MASK_VALUES, MASK_PATTERN, MASK_GIVEN)

# What is delicate: every three of their levels meet.
DELICATE = (
    (MODE.name, MASK_PATTERN.name, DTYPE.name),
    (MODE.name, GRADIENTS.name, DTYPE.name),
)


def _is_long(row: Row) -> bool:
    return row["T"] in LONG


# What any level would do for: what is long is made cheap, all else as most users have it.
WISHES: tuple[Wish, ...] = (
    (GRADIENTS.name, "under no_grad", _is_long),
    (HISTORY.name, "first call", _is_long),
    ("B", "1", _is_long),
    (WIDTH.name, "small", _is_long),
    ("B", "2", lambda row: not _is_long(row)),
    (DTYPE.name, "float32", lambda row: True),
    (GRADIENTS.name, "wanted", lambda row: row["gradients"] == "of the parameters alone"),
    (X.name, "ordinary", lambda row: True),
    (WIDTH.name, "small", lambda row: row["width"] == "1"),
    (HEADS.name, "several", lambda row: row["heads"] == "one"),
    (MASK_PATTERN.name, "random", lambda row: row["pattern of the mask"] == "all visible"),
)


def model_of(contract: Any) -> Model:
    """What its situations are made of: what all have first, then what only some have."""
    found = [T, BATCH_OR_NOT if contract.unbatched else BATCH, WIDTH, X, LAYOUT, DTYPE, GRADIENTS]
    if any(sizes.get("H", 1) > 1 for sizes in contract.sizes):
        found.append(HEADS)
    if contract.parameters is not None:
        found += [MODE_WITH_DROPOUT if contract.dropout else MODE, HISTORY]
    if contract.methods:
        found.append(Factor("method", ("forward", *contract.methods), like=False))
    if contract.variants:
        found.append(Factor("arguments", tuple(contract.variants), like=True))
    if contract.masks:
        found += [MASK, *OF_MASKS]
    return Model(tuple(found), RULES, DELICATE, WISHES)


def _goes_with_a_mask(row: Row, name: str) -> bool:
    return (row[MASK.name] == "none") == (row[name] == NONE)


def _are_of_one_mask(row: Row, one: str, other: str) -> bool:
    return (row[one] == NONE) == (row[other] == NONE)


# What cannot meet: the factors that a rule is about, and whether their levels can.
RULES: tuple[Rule, ...] = (
    *(
        ((MASK.name, factor.name), partial(_goes_with_a_mask, name=factor.name))
        for factor in OF_MASKS
    ),
    *(
        ((one.name, other.name), partial(_are_of_one_mask, one=one.name, other=other.name))
        for one, other in itertools.combinations(OF_MASKS, 2)
    ),
    # Which weights were kept shows only in the output for values that are independent.
    (("mode", "x"), lambda row: row["mode"] != DROPPING or row["x"] in FULL_RANK),
    (("mode", "T"), lambda row: row["mode"] != DROPPING or row["T"] not in LONG),
    # What is long and wide takes too long, and shows no more than one of them alone.
    (("T", "width"), lambda row: row["T"] not in LONG or row["width"] != "large"),
)
