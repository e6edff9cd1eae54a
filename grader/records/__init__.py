"""Records that outputs show: of one grading, of a batch's scores, of similar submissions in it."""

from grader.records.own_try import OwnTry
from grader.records.report import (
    AttentionMap,
    Cause,
    CheckResult,
    Difference,
    Explain,
    Fault,
    Frame,
    Report,
    TensorLocal,
    Verdict,
)
from grader.records.scores import Row, Score, Status
from grader.records.similarity import Group, LeftOut, Pair, Similarity, Span

__all__ = [
    "AttentionMap",
    "Cause",
    "CheckResult",
    "Difference",
    "Explain",
    "Fault",
    "Frame",
    "Group",
    "LeftOut",
    "OwnTry",
    "Pair",
    "Report",
    "Row",
    "Score",
    "Similarity",
    "Span",
    "Status",
    "TensorLocal",
    "Verdict",
]
