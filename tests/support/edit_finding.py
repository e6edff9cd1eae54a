"""How an answer is written as edits of another one."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from grader.authoring.answer_files import MAX_LINE_CHARS, AnswersMistake, Edit, written

MAX_EDITS = 4
MAX_CONTEXT_LINES = 5  # to say where
MAX_SHOWN_LINES = 3  # lines that go are all shown, if there are no more

Hunk = tuple[int, int, int, int]  # of lines of the base, and of those in their place


class CodeLine(NamedTuple):
    """A line of a source, and what of it is code: nothing of a comment or a docstring."""

    raw: str
    code: str


def lines_of(source: str) -> list[CodeLine]:
    """The lines of a source."""
    comments = {
        token.start[0]: token.start[1]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    said = {number for first, last in _docstrings(source) for number in range(first, last + 1)}
    return [
        CodeLine(raw, "" if number in said else raw[: comments.get(number)].rstrip())
        for number, raw in enumerate(source.splitlines(), 1)
    ]


def bare(source: str) -> list[str]:
    """The lines of a source that stands whole: no docstrings, and empty lines before functions."""
    kept = [line.raw for line in lines_of(source) if line.code or line.raw.lstrip()[:1] == "#"]
    found: list[str] = []
    for line in kept:
        begins = re.match(r"(@|def |class |async def )", line) and found
        if begins and found[-1][:1] != "@":
            found.append("")
        found.append(line)
    return found


def edits_between(base: str, source: str) -> list[Edit]:
    """What makes of a base an answer that computes the same as a source.

    Raises:
        AnswersMistake: It cannot be done by a few edits.
    """
    old, new = lines_of(base), [line for line in lines_of(source) if line.code]
    places = [place for place, line in enumerate(old) if line.code]
    matcher = SequenceMatcher(
        None, [old[place].code for place in places], [line.code for line in new], autojunk=False
    )
    hunks = [hunk[1:] for hunk in matcher.get_opcodes() if hunk[0] != "equal"]
    edits = [_edit(base, old, places, [line.raw for line in new], hunk) for hunk in _merged(hunks)]
    if not edits:
        raise AnswersMistake("it computes the same as its base")
    whole = base
    for edit in edits:
        whole = edit.apply(whole)
    if not is_same(whole, source):
        raise AnswersMistake("what its edits make is not the same program")
    if any(len(line) > MAX_LINE_CHARS for line in written(edits)):
        raise AnswersMistake("a line of an edit is too long")
    return edits


def is_same(one: str, other: str) -> bool:
    """Whether two sources are the same program, whatever their docstrings say."""
    return _program(one) == _program(other)


def _program(source: str) -> str:
    tree = ast.parse(source)
    for node, _ in _with_docstrings(tree):
        node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _edit(base: str, old: list[CodeLine], places: list[int], new: list[str], hunk: Hunk) -> Edit:
    """The shortest edit for a hunk that is found once, by what is around it if need be."""
    i1, i2, j1, j2 = hunk
    gone = [line.raw for line in old[places[i1] : places[i2 - 1] + 1]] if i2 > i1 else []
    looked_for = [gone[0], None, gone[-1]] if len(gone) > MAX_SHOWN_LINES else [*gone]
    found = []
    for before, after in itertools.product(range(MAX_CONTEXT_LINES), repeat=2):
        if before > i1 or i2 + after > len(places) or not (gone or before or after):
            continue
        # Up to what goes or comes: all lines, so that what comes is at its place.
        until = places[i1] if gone or after else places[i1 - 1] + 1
        above = [line.raw for line in old[places[i1 - before] : until]] if before else []
        since = places[i2 - 1] + 1 if gone else places[i1] if after else 0
        below = [line.raw for line in old[since : places[i2 + after - 1] + 1]] if after else []
        edit = Edit((*above, *looked_for, *below), (*above, *new[j1:j2], *below))
        if "" not in (*above, *below) and _is_found_once(edit, base):
            found.append(edit)
    if not found:
        raise AnswersMistake("an edit finds no place of its own")
    return min(found, key=lambda edit: len(written([edit])))


def _is_found_once(edit: Edit, base: str) -> bool:
    try:
        edit.apply(base)
    except AnswersMistake:
        return False
    return True


def _merged(hunks: Iterable[tuple[int, int, int, int]]) -> list[Hunk]:
    """The same in a few: of too many, those that are nearest to one another are one."""
    found = [*hunks]

    def gap(place: int) -> int:
        return found[place + 1][0] - found[place][1]

    while len(found) > MAX_EDITS:
        nearest = min(range(len(found) - 1), key=gap)
        one, other = found[nearest : nearest + 2]
        found[nearest : nearest + 2] = [(one[0], other[1], one[2], other[3])]
    return found


def _with_docstrings(
    tree: ast.AST,
) -> Iterator[tuple[ast.Module | ast.ClassDef | ast.FunctionDef, ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and (ast.get_docstring(node, clean=False) is not None):
            yield node, node.body[0]


def _docstrings(source: str) -> Iterator[tuple[int, int]]:
    """Their first and last lines; of a body that has nothing else, it stays."""
    for node, says in _with_docstrings(ast.parse(source)):
        if len(node.body) > 1:
            yield says.lineno, says.end_lineno or says.lineno
