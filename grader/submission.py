"""A file on disk -> Submission: read with care, never imported, never compiled."""

from __future__ import annotations

import ast
import hashlib
import os
import stat
import warnings
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GradeError

MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Submission:
    """The source of a file being graded, whoever wrote it.

    Attributes:
        path: The file as it was named.
        source: Its text, without a byte-order mark, lines ended by a newline.
    """

    path: Path
    source: str

    @property
    def name(self) -> str:
        """What the file is called in tracebacks."""
        return self.path.name

    @property
    def sha256(self) -> str:
        """Of the source's UTF-8, in hexadecimal."""
        return hashlib.sha256(self.source.encode()).hexdigest()


class SourceProblem(Exception):
    """The source can be read but not tried.

    Attributes:
        line: The line that it speaks of, 0 where there is none.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def read_submission(path: Path) -> Submission:
    """Read a submission's source.

    Raises:
        GradeError: There is no such file, or it is no regular file, too large, or not UTF-8.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise GradeError(f"`{path}` cannot be read: {_reason(error)}") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise GradeError(f"`{path}` is {kind}; name the Python file to grade")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise GradeError(f"`{path}` is larger than 1 MiB; a submission is a short Python file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GradeError(
            f"`{path}` is not UTF-8 (byte {error.start} is 0x{data[error.start]:02x}); "
            "save it as UTF-8"
        ) from None
    return Submission(path, text.replace("\r\n", "\n").replace("\r", "\n"))


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[0].lower() + reason[1:]


def parse(submission: Submission) -> ast.Module:
    """The submission's syntax tree.

    Raises:
        SourceProblem: It does not parse; the message says where.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(submission.source)
    except SyntaxError as error:
        raise SourceProblem(f"does not parse: {error.msg}", error.lineno or 0) from None
    except (RecursionError, MemoryError):
        raise SourceProblem("does not parse: it is nested too deeply") from None
    except ValueError as error:  # NUL bytes
        raise SourceProblem(f"does not parse: {error}") from None
