"""Read a .py or .ipynb file as a Submission, with care: it is never imported or compiled."""

from grader.submission.reading import (
    max_bytes_of,
    read_bounded,
    read_submission,
    read_whole,
    submission_of,
    without_outputs,
)
from grader.submission.source import (
    MAX_SOURCE_BYTES,
    SourceProblem,
    Submission,
    escape_undecodable,
    parse,
)

__all__ = [
    "MAX_SOURCE_BYTES",
    "SourceProblem",
    "Submission",
    "escape_undecodable",
    "max_bytes_of",
    "parse",
    "read_bounded",
    "read_submission",
    "read_whole",
    "submission_of",
    "without_outputs",
]
