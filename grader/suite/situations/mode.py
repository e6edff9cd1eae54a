"""The factor mode: whether a module is in training."""

from __future__ import annotations

from grader.suite.situations.factors import Factor, Row

EVALUATION = "evaluation"
DROPPING_NOTHING = "training, dropping nothing"
MODE = Factor("mode", (EVALUATION, DROPPING_NOTHING))


def is_training(row: Row) -> bool:
    """Return whether a module is in training mode; a function, which has no mode, is in none."""
    return row.get(MODE.name, EVALUATION) != EVALUATION
