"""A .py or .ipynb file on disk -> Submission: read with care, never imported, never compiled."""

from __future__ import annotations

import ast
import hashlib
import os
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath

from grader.errors import GradeError
from grader.notebook_file import join_cells, read_cells, too_much_code

MAX_BYTES = 1 << 20
MAX_NOTEBOOK = 64 << 20  # its outputs hold pictures


@dataclass(frozen=True)
class Submission:
    """The source of a file being graded, whoever wrote it.

    Attributes:
        path: The file as it was named.
        source: Its text, without a byte-order mark, lines ended by a newline; of a notebook, the
            Python of its code cells, each below a line ``# cell N``.
        cells: The line of ``source`` on which each code cell begins; empty for a plain file.
        problem: Why there is no source to try; empty where there is one.
    """

    path: Path
    source: str
    cells: tuple[int, ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """What the file is called in tracebacks."""
        return readable(self.path.name)

    @property
    def sha256(self) -> str:
        """Of the source's UTF-8, in hexadecimal."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def parts(self) -> Iterator[tuple[int, str]]:
        """The code of each cell, or the whole, with the number of lines before it."""
        if not self.cells:
            yield 0, self.source
            return
        lines = self.source.split("\n")
        for first, after in pairwise([*self.cells, len(lines)]):
            if first < after:
                yield first, "\n".join(lines[first : after - 1])


def readable(name: str) -> str:
    """A file's name as text; what is not UTF-8 of it comes out as `�`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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

    A notebook's magics, shell lines and calls for help are left out of it, line by line.

    Raises:
        GradeError: There is no such file, or it is no regular file, too large, or not UTF-8; or
            it is called a notebook and is none, or has no code.
    """
    return submission_of(path, _read(path, most_bytes(path)))


def most_bytes(path: PurePath) -> int:
    """How many bytes a file of this name may have."""
    return MAX_NOTEBOOK if path.suffix.lower() == ".ipynb" else MAX_BYTES


def submission_of(path: Path, data: bytes) -> Submission:
    """The submission in a file's bytes.

    Raises:
        GradeError: They are too many, not UTF-8, or no notebook where the name says so.
    """
    text = _decoded(path, data)
    if path.suffix.lower() != ".ipynb":
        return Submission(path, text.replace("\r\n", "\n").replace("\r", "\n"))
    source, cells = join_cells(read_cells(text, path))
    if len(source.encode()) > MAX_BYTES:
        raise too_much_code(path)
    return Submission(path, source, cells)


def _read(path: Path, most: int) -> bytes:
    """A file's bytes; one more than may be, at most."""
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
        return file.read(most + 1)


def _decoded(path: Path, data: bytes) -> str:
    most = most_bytes(path)
    if len(data) > most:
        short = "a submission is a short Python file" if most == MAX_BYTES else "clear its outputs"
        raise GradeError(f"`{path}` is larger than {most >> 20} MiB; {short}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GradeError(
            f"`{path}` is not UTF-8 (byte {error.start} is 0x{data[error.start]:02x}); "
            "save it as UTF-8"
        ) from None


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[0].lower() + reason[1:]


def parse(submission: Submission) -> ast.Module:
    """The submission's syntax tree.

    Raises:
        SourceProblem: It does not parse; the message says where.
    """
    whole = ast.Module([], [])
    for before, text in submission.parts():
        tree = _parse(text, before)
        whole.body += ast.increment_lineno(tree, before).body if before else tree.body
    return whole


def _parse(source: str, before: int) -> ast.Module:
    """The syntax tree of what follows so many lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        line = before + (error.lineno or 0)
        raise SourceProblem(f"does not parse: {error.msg}", line) from None
    except (RecursionError, MemoryError):
        raise SourceProblem("does not parse: it is nested too deeply", before) from None
    except ValueError as error:  # NUL bytes
        raise SourceProblem(f"does not parse: {error}", before) from None
