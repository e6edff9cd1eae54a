"""The level of mode that drops weights: where it can show, and at which rate."""

from __future__ import annotations

from typing import Any

from grader.suite.harness import Harness
from grader.suite.situations.factors import Factor, Row, Rule
from grader.suite.situations.lengths import LONG_LEVELS
from grader.suite.situations.mode import DROPPING_NOTHING, EVALUATION, MODE
from grader.suite.situations.tokens import OVERFLOWING

DROPPING = "training, dropping"
FULL_RANK = ("ordinary", "with a constant token")  # levels of x that show which weights were kept
MODE_WITH_DROPOUT = Factor(MODE.name, (EVALUATION, DROPPING_NOTHING, DROPPING))
MIN_EXTRA_FEATURES = 12  # beyond the number of positions, where weights are dropped
# Where weights are dropped in float64: neither 1/√C nor 1/(1 - rate) is rounded in any dtype.
EXACT_WIDTH = 64
EXACT_RATES = (0.5, 0.75)
# Positions, hardly more where weights are dropped: with as many features, it costs T³, and most in
# bfloat16, whose products are slow.
LONG_DROPPING_T = {"float32": 129, "float64": 129, "bfloat16": 32}
LONG_DROPOUT_RATE = 0.97  # of a long sequence
# An output shows which weights were kept only if the values are linearly independent.
RULES: tuple[Rule, ...] = (
    (("mode", "x"), lambda row: row["mode"] != DROPPING or row["x"] in (*FULL_RANK, OVERFLOWING)),
    (("mode", "T"), lambda row: row["mode"] != DROPPING or row["T"] not in LONG_LEVELS),
)


def draw_rate(harness: Harness, row: Row) -> float | None:
    """Draw the dropout rate that the constructor gets; None where none is passed."""
    contract: Any = harness.contract
    if not contract.dropout or row["mode"] == EVALUATION:
        return None if harness.draw.integer(0, 1) else 0.3
    if row["mode"] != DROPPING:
        return 0.0
    if row["T"] == "above 128":
        return LONG_DROPOUT_RATE
    percent = harness.draw.integer(10, 80)
    return EXACT_RATES[percent % 2] if row["dtype"] == "float64" else percent / 100
