"""Records that outputs show: of one grading, of a batch's scores, of similar submissions in it."""

from grader.records.gradings import Grading
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
from grader.records.scores import FeedbackDepth, GradebookRow, Score, Status
from grader.records.similarity import (
    EarlierSubmission,
    LeftOut,
    SimilarGroup,
    Similarity,
    SimilarPair,
    Span,
)

__all__ = [
    "AttentionMap",
    "Cause",
    "CheckResult",
    "Difference",
    "EarlierSubmission",
    "Explain",
    "Fault",
    "FeedbackDepth",
    "Frame",
    "GradebookRow",
    "Grading",
    "LeftOut",
    "OwnTry",
    "Report",
    "Score",
    "SimilarGroup",
    "SimilarPair",
    "Similarity",
    "Span",
    "Status",
    "TensorLocal",
    "Verdict",
]
