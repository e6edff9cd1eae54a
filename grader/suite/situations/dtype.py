"""The factor dtype: which numbers a module and its inputs are made of."""

from __future__ import annotations

import torch

from grader.suite.oracle import Weights
from grader.suite.situations.factors import Factor, Row

DTYPE = Factor("dtype", ("float32", "float64", "bfloat16"))
DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def in_dtype(row: Row, weights: Weights) -> Weights:
    """Convert weights to the dtype of the row."""
    return {name: weight.to(DTYPES[row["dtype"]]) for name, weight in weights.items()}
