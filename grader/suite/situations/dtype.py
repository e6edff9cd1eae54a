"""The factor dtype: which numbers a module and its inputs are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from grader.suite.oracle import Weights
from grader.suite.situations.factors import Factor, Row
from grader.suite.situations.outcomes import SituationLike

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
DTYPE = Factor("dtype", tuple(DTYPES))
CLAIM_BY_DTYPE = {"float64": "computes_in_float64", "bfloat16": "computes_in_bfloat16"}
# Which situations a claim is about.
APPLIES_TO: dict[str, Callable[[SituationLike], bool]] = {
    "computes_in_float64": lambda one: one.row.get("dtype") == "float64",
    "computes_in_bfloat16": lambda one: one.row.get("dtype") == "bfloat16",
}


def claims_about(failed: Sequence[SituationLike]) -> list[str]:
    """Return which claims fail where the dtype describes what fails."""
    dtypes = {one.row[DTYPE.name] for one in failed}
    return [CLAIM_BY_DTYPE[one] for one in dtypes if one in CLAIM_BY_DTYPE]


def in_dtype(row: Row, weights: Weights) -> Weights:
    """Convert weights to the dtype of the row."""
    return {name: weight.to(DTYPES[row["dtype"]]) for name, weight in weights.items()}
