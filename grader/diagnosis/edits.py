"""Known mistakes of one exercise, as edits of its solution; they lie beside it. No torch here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from grader.diagnosis.catalogue import KnownMistake
from grader.errors import GradeError


class EditMistake(KnownMistake, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A known way to get one exercise wrong: its solution with some text replaced.

    One that ``says`` nothing proves the suite alone; the others explain as well.

    Attributes:
        seen: Where.
        loses: The check that must see it.
        edits: Pairs of a text that stands in the solution once, and what takes its place.
    """

    seen: str
    loses: str
    edits: tuple[tuple[str, str], ...]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    wrong: list[EditMistake]


def read_edits(path: Path) -> list[EditMistake]:
    """The known mistakes in a file; none where there is no such file.

    Raises:
        GradeError: It is damaged, or one says what it is and has no hint.
    """
    if not path.is_file():
        return []
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).wrong
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise GradeError(f"`{path}` is damaged: {error}") from None
    for mistake in found:
        if bool(mistake.says) != bool(mistake.hint):
            raise GradeError(f"`{path}`: `{mistake.name}` needs both `says` and `hint`, or neither")
    return found


def edited(source: str, mistakes: Iterable[EditMistake]) -> str | None:
    """A solution that makes these mistakes; None where one's text does not stand in it once."""
    for mistake in mistakes:
        for old, new in mistake.edits:
            if source.count(old) != 1:
                return None
            source = source.replace(old, new)
    return source
