"""Known mistakes of one exercise, as edits of its solution; read without importing torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from grader.diagnosis.catalogue import KnownMistake
from grader.errors import GradeError
from grader.kit.toml_files import read_toml


class EditMistake(KnownMistake, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A known way to get one exercise wrong: its solution with some text replaced.

    Each is there to prove that the suite notices it; one that ``says`` something also explains
    submissions.

    Attributes:
        seen: Where the mistake was seen.
        loses: Name of the check that must fail by the mistake.
        edits: Pairs of a text that stands in the solution once, and its replacement.
    """

    seen: str
    loses: str
    edits: tuple[tuple[str, str], ...]


class Habit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Another right way to do what an exercise leaves open: any mistake may come beside it.

    Attributes:
        name: What is done.
        edits: Pairs of a text that stands in the solution once, and its replacement.
    """

    name: str
    edits: tuple[tuple[str, str], ...]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    wrong: list[EditMistake]
    habit: list[Habit] = []


def read_edits(path: Path) -> list[EditMistake]:
    """Return the known mistakes in a file, which lies beside the solution; none without a file.

    Raises:
        GradeError: The file is damaged, or a mistake has only one of ``says`` and ``hint``.
    """
    if not path.is_file():
        return []
    found = read_toml(path, _File).wrong
    for mistake in found:
        if bool(mistake.says) != bool(mistake.hint):
            raise GradeError(f"`{path}`: `{mistake.name}` needs both `says` and `hint`, or neither")
    return found


def read_habits(path: Path) -> list[Habit]:
    """Return the habits in a file of known mistakes; none without a file."""
    return read_toml(path, _File).habit if path.is_file() else []


def right_ways(source: str, mistakes: Path) -> list[str]:
    """Return a solution's source, then the source with each habit in its file of mistakes."""
    ways = [source, *(edited(source, [habit]) for habit in read_habits(mistakes))]
    return [way for way in ways if way is not None]


def edited(source: str, mistakes: Iterable[EditMistake | Habit]) -> str | None:
    """Return the solution with these mistakes; None unless each replaced text stands in it once."""
    for mistake in mistakes:
        for old, new in mistake.edits:
            if source.count(old) != 1:
                return None
            source = source.replace(old, new)
    return source
