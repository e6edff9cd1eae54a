"""Read a .py or .ipynb file as a Submission, with care: it is never imported or compiled."""

from grader.submission.reading import (
    most_bytes,
    read_submission,
    submission_of,
    without_outputs,
)
from grader.submission.source import MAX_BYTES, SourceProblem, Submission, parse, readable

__all__ = [
    "MAX_BYTES",
    "SourceProblem",
    "Submission",
    "most_bytes",
    "parse",
    "read_submission",
    "readable",
    "submission_of",
    "without_outputs",
]
