"""A submission's source, line by line, coloured and marked where it failed."""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Pygments has no types.
from pygments.lexers.python import PythonLexer
from pygments.token import Token

from grader.outputs.sanitise import clean
from grader.wire.plain import with_newlines

MAX_LINES = 5_000  # lines; a longer page is slow to open
MAX_BLANK_LINES = 200  # in a row; the lexer scans to their end again from each
MAX_COLOURED_LINE_CHARS = 1000  # the lexer scans to the end of a row of zeros again from each
MAX_COLOURED_CHARS = 100_000  # the lexer takes up to ten microseconds for each
TOKEN_KINDS = (
    (Token.Comment, "comment"),
    (Token.String.Doc, "doc"),
    (Token.String, "string"),
    (Token.Number, "number"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Name.Function, "defined"),
    (Token.Name.Class, "defined"),
    (Token.Name.Decorator, "defined"),
    (Token.Name.Builtin, "builtin"),
)


@dataclass(frozen=True)
class Note:
    """A note shown below a source line that failed.

    Attributes:
        text: The note, such as ``KeyError: 3``.
        check: The number of the check that the note comes from.
    """

    text: str
    check: int


@dataclass(frozen=True)
class SourceLine:
    """One line of source.

    Attributes:
        number: The line's number in the whole source, from 1.
        label: The number shown beside the line: in a notebook, that within its cell.
        pieces: The text in order, as pairs of a kind, empty for plain text, and a piece of text.
        marked: Whether the submission failed at this line, or an exception passed through it.
        notes: The notes shown below the line.
    """

    number: int
    label: str
    pieces: tuple[tuple[str, str], ...]
    marked: bool
    notes: tuple[Note, ...]


def clean_lines(source: str) -> list[str]:
    """Return the lines of a source, each cleaned by itself so that line numbers stay right."""
    lines = with_newlines(source).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [clean(line) for line in lines]


def list_source(
    source: str, marks: Mapping[int, Iterable[Note]], cells: Sequence[int] = ()
) -> list[SourceLine]:
    """Return the first ``MAX_LINES`` lines of a source, ready to be shown.

    Args:
        source: The submission's text.
        marks: The notes below each line that failed, by the line's number from 1.
        cells: The line on which each code cell of a notebook begins.
    """
    lines = clean_lines(source)[:MAX_LINES]
    is_short = (
        sum(map(len, lines)) <= MAX_COLOURED_CHARS
        and max(map(len, lines), default=0) <= MAX_COLOURED_LINE_CHARS
        and _most_blank(lines) <= MAX_BLANK_LINES
    )
    pieces = _coloured(lines) if is_short else [[("", text)] for text in lines]
    return [
        SourceLine(
            number,
            _label(number, cells),
            tuple(parts),
            number in marks,
            tuple(marks.get(number, ())),
        )
        for number, parts in enumerate(pieces, 1)
    ]


def _most_blank(lines: list[str]) -> int:
    """Return the number of lines in the longest run of blank lines."""
    runs = itertools.groupby(lines, key=lambda line: not line.strip())
    return max((len([*run]) for is_blank, run in runs if is_blank), default=0)


def _label(number: int, cells: Sequence[int]) -> str:
    cell = bisect_right(cells, number)
    if cell == 0:
        return str(number)
    within = number - cells[cell - 1]
    return str(within) if within else ""  # empty for the line that names the cell


def _coloured(lines: list[str]) -> list[list[tuple[str, str]]]:
    """Cut each line into coloured pieces by Pygments, which accepts source that does not parse."""
    found: list[list[tuple[str, str]]] = [[]]
    for token, text in PythonLexer(stripnl=False).get_tokens("\n".join(lines)):
        for place, part in enumerate(text.split("\n")):
            if place:
                found.append([])
            if part:
                found[-1].append((_kind(token), part))
    return found[: len(lines)]


@functools.cache
def _kind(token: object) -> str:
    return next((name for kind, name in TOKEN_KINDS if token in kind), "")
