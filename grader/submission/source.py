"""The source of a submission, and its syntax tree."""

from __future__ import annotations

import ast
import hashlib
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from unicodedata import category

CONTEXT_CHARS = 60  # before and after what does not parse
MAX_FIELDS = 2000  # `{` in adjacent strings
MAX_MARKS = 100  # accents on one letter
READ_AS_MARKS = "\uff9e\uff9f"  # letters of half width, which Python's parser makes marks of
MAX_DOTS = 1000  # in a chain of names
MAX_PROBLEM_CHARS = 2000  # of a message: a name may be as long as the file
MAX_SOURCE_BYTES = 128 << 10  # to parse it takes up to 3,500 times as much memory


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
        """The file's name in tracebacks."""
        return escape_undecodable(self.path.name)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the source in UTF-8, in hexadecimal."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def text_of(self, line: int) -> str:
        """Return the text of a line of the source, by number; empty where there is no such line."""
        return "".join(self.source.split("\n")[line - 1 : line]).strip()[:200]

    def code_blocks(self) -> Iterator[tuple[int, str]]:
        """Yield the code of each cell, or of the whole file, with the number of lines before it."""
        if not self.cells:
            yield 0, self.source
            return
        lines = self.source.split("\n")
        for first, after in pairwise([*self.cells, len(lines)]):
            if first < after:
                yield first, "\n".join(lines[first : after - 1])


def escape_undecodable(name: str) -> str:
    r"""Return a file's name as text, with bytes that are not UTF-8 as escapes: ``\xe9``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class SourceProblem(Exception):
    """The submission's source can be read but not tried.

    Attributes:
        line: The line that the message is about; 0 if there is none.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message[:MAX_PROBLEM_CHARS])
        self.line = line


def parse(submission: Submission) -> ast.Module:
    """Return the submission's syntax tree.

    Raises:
        SourceProblem: The source does not parse; the message says where.
    """
    whole = ast.Module([], [])
    for before, text in submission.code_blocks():
        tree = _parse(text, before)
        whole.body += ast.increment_lineno(tree, before).body if before else tree.body
    return whole


def _parse(source: str, before: int) -> ast.Module:
    """Parse the source that follows ``before`` lines, which messages count as well."""
    try:
        return parse_text(source)
    except SyntaxError as error:
        line = before + (error.lineno or 0)
        raise SourceProblem(f"does not parse: {error.msg}{_shown(error)}", line) from None
    except (RecursionError, MemoryError):
        raise SourceProblem("does not parse: it is nested too deeply", before) from None
    except ValueError as error:
        raise SourceProblem(f"does not parse: {error}", before) from None


def parse_text(text: str) -> ast.Module:
    """Parse a text that anybody may have written, without warnings.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It holds a NUL byte, or would take the parser too much time or memory.
        RecursionError: It is nested too deeply.
        MemoryError: It is nested too deeply.
    """
    if _has_too_many_fields(text):
        raise ValueError(f"a string holds more than {MAX_FIELDS} `{{`")
    if not text.isascii() and _most_marks(text) > MAX_MARKS:  # sorted in quadratic time
        raise ValueError(f"a letter has more than {MAX_MARKS} accents")
    if _most_dots(text) > MAX_DOTS:  # of which the parser keeps every beginning
        raise ValueError(f"a chain of names has more than {MAX_DOTS} dots")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _most_dots(source: str) -> int:
    """Return how many dots the longest stretch holds of names, dots and blanks alone."""
    return max(part.count(".") for part in re.split(r"[^\w.\s\\]+|(?<![\\\r])\n", source))


def _has_too_many_fields(source: str) -> bool:
    """Return whether adjacent strings hold more `{` than anybody writes.

    Before 3.12, Python's parser takes time quadratic in their number.
    """
    if sys.version_info >= (3, 12) or source.count("{") <= MAX_FIELDS:
        return False
    fields = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING:
                fields += token.string.count("{")
            elif token.type not in (tokenize.NL, tokenize.COMMENT):
                fields = 0
            # After text that is no token, each further letter may be compared with all the rest.
            if fields > MAX_FIELDS or token.type == tokenize.ERRORTOKEN:
                return True
    except (tokenize.TokenError, SyntaxError):  # the parser will report it
        return False
    return False


def _most_marks(text: str) -> int:
    """Return the length of the longest row of combining marks, such as accents."""
    rows = groupby(text, lambda letter: category(letter)[0] == "M" or letter in READ_AS_MARKS)
    return max((len([*row]) for are_marks, row in rows if are_marks), default=0)


def _shown(error: SyntaxError) -> str:
    """Return the line that does not parse, with a caret below the place; empty if not known."""
    text, offset = (error.text or "").rstrip("\n"), error.offset or 0
    if not text.strip() or offset < 1:
        return ""
    left = max(len(text[: offset - 1]) - CONTEXT_CHARS, len(text) - len(text.lstrip()))
    left = min(left, offset - 1)
    caret = "".join("\t" if letter == "\t" else " " for letter in text[left : offset - 1]) + "^"
    return f"\n{text[left : left + 2 * CONTEXT_CHARS]}\n{caret}"
