"""A submission's source, line by line, coloured and marked where it failed."""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

# Pygments has no types.
from pygments.lexers.python import PythonLexer
from pygments.token import Token

from grader.outputs.sanitise import clean

MAX_LINES = 5_000  # a page of more is slow to open
MAX_BLANK = 200  # lines after one another: the lexer looks through them from each anew
MAX_COLOURED = 100_000  # characters; the lexer takes up to ten microseconds for each
KINDS = (
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
    """What is said below a line that failed.

    Attributes:
        text: Such as ``KeyError: 3``.
        check: The number of the check that says so.
    """

    text: str
    check: int


@dataclass(frozen=True)
class Line:
    """One line of source.

    Attributes:
        number: In the whole source, from 1.
        label: What stands beside it: its number, in a notebook that within its cell.
        pieces: Its text in order, each piece with its kind; empty for plain text.
        marked: Whether an exception passed through it.
        notes: What is said below it.
    """

    number: int
    label: str
    pieces: tuple[tuple[str, str], ...]
    marked: bool
    notes: tuple[Note, ...]


def read_lines(source: str) -> list[str]:
    """The lines of a source, each made safe by itself, so that their numbers hold."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [clean(line) for line in lines]


def list_source(
    source: str, marks: Mapping[int, Iterable[Note]], cells: Sequence[int] = ()
) -> list[Line]:
    """The first lines of a source, ready to be shown.

    Args:
        source: The submission's text.
        marks: By the numbers of the lines that failed, from 1: what is said below each.
        cells: Of a notebook, the line on which each code cell begins.
    """
    lines = read_lines(source)[:MAX_LINES]
    is_short = sum(map(len, lines)) <= MAX_COLOURED and _most_blank(lines) <= MAX_BLANK
    pieces = _coloured(lines) if is_short else [[("", text)] for text in lines]
    return [
        Line(
            number,
            _label(number, cells),
            tuple(parts),
            number in marks,
            tuple(marks.get(number, ())),
        )
        for number, parts in enumerate(pieces, 1)
    ]


def _most_blank(lines: list[str]) -> int:
    """How many lines without a letter follow one another at most."""
    runs = itertools.groupby(lines, key=lambda line: not line.strip())
    return max((len([*run]) for is_blank, run in runs if is_blank), default=0)


def _label(number: int, cells: Sequence[int]) -> str:
    cell = bisect_right(cells, number)
    if cell == 0:
        return str(number)
    within = number - cells[cell - 1]
    return str(within) if within else ""  # the line that names the cell


def _coloured(lines: list[str]) -> list[list[tuple[str, str]]]:
    """The pieces of each line, by Pygments; it takes no offence at source that does not parse."""
    found: list[list[tuple[str, str]]] = [[]]
    for kind, text in _tokens(lines):
        first, *rest = text.split("\n")
        for place, part in enumerate((first, *rest)):
            if place:
                found.append([])
            if part:
                found[-1].append((kind, part))
    return found[: len(lines)]


def _tokens(lines: list[str]) -> Iterator[tuple[str, str]]:
    for token, text in PythonLexer(stripnl=False).get_tokens("\n".join(lines)):
        yield _kind(token), text


@functools.cache
def _kind(token: object) -> str:
    return next((name for kind, name in KINDS if token in kind), "")
