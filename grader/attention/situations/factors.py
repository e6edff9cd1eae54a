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
OVERFLOWING = "very large"
LONG = ("about 128", "about 256")

LENGTHS = tuple(f"about {2**n}" for n in range(4, 9))
T = Factor("T", ("1", "2", "small", "any", *LENGTHS), like=False)
BATCH = Factor("B", ("1", "2", "more"), like=False)
BATCH_OR_NOT = Factor("B", ("none", "1", "2", "more"), like=False)
WIDTH = Factor("width", ("1", "small", "odd", "even", "square", "large"), like=False)
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
LAYOUT = Factor(
    "layout of x", ("contiguous", "transposed", "strided", "expanded", "a part"), like=False
)
DTYPE = Factor("dtype", ("float32", "float64", "bfloat16"), like=False)
MODE = Factor("mode", (EVALUATION, STILL), like=False)
MODE_WITH_DROPOUT = Factor("mode", (EVALUATION, STILL, DROPPING), like=False)
NO_GRADIENTS = ("under no_grad", "under no_grad, of an x that learns", "in inference mode")
GRADIENTS = Factor("gradients", ("wanted", "through another layer", *NO_GRADIENTS), like=False)
GRADIENTS_OF_PARAMETERS = Factor(
    "gradients",
    (
        *GRADIENTS.levels, "of the parameters alone", "of x alone", "with a layer frozen",
    ),
    like=False,
)  # fmt: skip
WAY = Factor(
    "gradients asked for",
    (
        NONE, "as usual", "of the transposed output", "into .grad", "a second time",
        "times 65536", "times 1e-6", "beside a residual",
    ),
    like=False,
)  # fmt: skip
WAY_OF_OTHER_FEATURES = Factor(WAY.name, WAY.levels[:-1], like=False)
WEIGHTS = Factor("weights", ("as drawn", "small", "large", "with biases of zero"), like=False)
WEIGHTS_OF_KINKS = Factor(WEIGHTS.name, WEIGHTS.levels[:-1], like=False)  # zeros lie at a kink
ANOTHER_INPUT = "after another input"
ANOTHER_LIFE = ("after other weights", "loaded from a state")
HISTORY = Factor(
    "history",
    (
        "first call", ANOTHER_INPUT, "before another input", "after a training step",
        "after another dtype", "in the same tensor, filled anew", *ANOTHER_LIFE,
    ),
    like=False,
)  # fmt: skip
HISTORY_OF_FUNCTIONS = Factor(
    HISTORY.name,
    ("first call", ANOTHER_INPUT, "before another input", "in the same tensor, filled anew"),
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
MASK_VALUES = Factor(
    "numbers in the mask", (NONE, "ones", "tiny", "negative", "large", "mixed"), like=False
)
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


def _is_rounded(row: Row) -> bool:
    return row["dtype"] == "bfloat16" and not _is_long(row)


# What any level would do for: what is long is made cheap, all else as most users have it.
WISHES: tuple[Wish, ...] = (
    (GRADIENTS.name, NO_GRADIENTS[0], _is_long),
    (HISTORY.name, "first call", _is_long),
    ("B", "1", _is_long),
    (WIDTH.name, "small", _is_long),
    ("B", "2", lambda row: not _is_long(row)),
    # In bfloat16, gradients tell something where all else is ordinary.
    (X.name, "ordinary", _is_rounded),
    (WEIGHTS.name, "as drawn", _is_rounded),
    (GRADIENTS.name, "wanted", lambda row: _is_rounded(row) and row[WAY.name] != NONE),
    (DTYPE.name, "float32", lambda row: row["x"] != "ordinary"),
    (X.name, "ordinary", lambda row: True),
    (WIDTH.name, "small", lambda row: row["width"] in ("1", "large")),
    (HEADS.name, "several", lambda row: row["heads"] == "one"),
    (MASK_PATTERN.name, "random", lambda row: row["pattern of the mask"] == "all visible"),
)


def model_of(contract: Any) -> Model:
    """What its situations are made of: what all have first, then what only some have."""
    found = [T, BATCH_OR_NOT if contract.unbatched else BATCH, WIDTH, X, LAYOUT, DTYPE]
    found.append(WAY if contract.output_letter == "C" else WAY_OF_OTHER_FEATURES)
    rules = list(RULES)
    if any(sizes.get("H", 1) > 1 for sizes in contract.sizes):
        found.append(HEADS)
    if contract.parameters is None:
        found += [GRADIENTS, HISTORY_OF_FUNCTIONS]
    else:
        mode = MODE_WITH_DROPOUT if contract.dropout else MODE
        weights = WEIGHTS if contract.kinks is None else WEIGHTS_OF_KINKS
        found += [GRADIENTS_OF_PARAMETERS, weights, mode, HISTORY]
    if contract.methods:
        found.append(Factor("method", ("forward", *contract.methods), like=False))
    if contract.variants:
        found.append(Factor("arguments", tuple(contract.variants), like=False))
        rules.append((("arguments", "B"), partial(_takes_a_batch, contract)))
    if contract.masks:
        found += [MASK, *OF_MASKS]
    return Model(tuple(found), tuple(rules), DELICATE, WISHES)


def _takes_a_batch(contract: Any, row: Row) -> bool:
    return row["B"] == "none" or contract.variants[row["arguments"]].sizes[0].B > 0


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
    (("mode", "x"), lambda row: row["mode"] != DROPPING or row["x"] in (*FULL_RANK, OVERFLOWING)),
    (("mode", "T"), lambda row: row["mode"] != DROPPING or row["T"] not in LONG),
    # Gradients are asked for in some way where they are wanted at all.
    (
        (GRADIENTS.name, WAY.name),
        lambda row: (row["gradients"] in NO_GRADIENTS) == (row[WAY.name] == NONE),
    ),
    # The gradient of a residual reaches x.
    (
        (GRADIENTS.name, WAY.name),
        lambda row: (
            row[WAY.name] != WAY.levels[-1] or row["gradients"] != "of the parameters alone"
        ),
    ),
    # What is long and wide takes too long, and shows no more than one of them alone.
    (("T", "width"), lambda row: row["T"] not in LONG or row["width"] != "large"),
)
