"""Known answers of the kit's exercises: right ones in many styles, slow ones, wrong ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.kit import Exercise, load_kit
from grader.submission import Submission, read_submission
from tests.support.answer_files import Entry, read_entries, source_of
from tests.support.paths import ANSWERS, ROOT

# Fix-it exercises that ask for more than the contract of what they break.
OWN_CONTRACT = {"bug10", "bug11", "bug14"}


@dataclass(frozen=True)
class Answer:
    """An answer of an exercise.

    Attributes:
        name: Begins with ``right_``, ``slow_`` or ``wrong_``, after ``situations/``, ``slow/`` or
            ``styles/`` where it is one of these.
        submission: To be graded.
        what: Its style, or what is wrong.
        loses: Checks that it is known to lose.
        accepted: Why it is accepted, although it is wrong.
    """

    name: str
    submission: Submission
    what: str = ""
    loses: frozenset[str] = frozenset()
    accepted: str = ""

    @property
    def kind(self) -> str:
        """``right``, ``slow`` (and right) or ``wrong``."""
        return self.name.rpartition("/")[2].partition("_")[0]


def file_of(exercise: Exercise) -> Path:
    """Where they stand."""
    return ANSWERS / f"{exercise.name}.answers"


def entries_of(exercise: Exercise) -> dict[str, Entry]:
    """As they stand in their file."""
    path = file_of(exercise)
    return read_entries(path.read_text(encoding="utf-8")) if path.is_file() else {}


@cache
def answers(exercise: Exercise) -> tuple[Answer, ...]:
    """All of an exercise; those whose point is their bytes are files of their own."""
    entries = entries_of(exercise)
    solution = exercise.solution.read_text(encoding="utf-8")
    found = [_answer(exercise, one, source_of(one, entries, solution)) for one in entries.values()]
    files = sorted((ANSWERS / exercise.name).glob("*.py"))
    return (*found, *(Answer(path.stem, read_submission(path)) for path in files))


def of_kind(exercise: Exercise, kind: str) -> list[Answer]:
    """Those of an exercise that are right, slow or wrong."""
    return [one for one in answers(exercise) if one.kind == kind]


def find(exercise: Exercise, name: str) -> Answer:
    """One of an exercise."""
    return {one.name: one for one in answers(exercise)}[name]


def right_answers(exercise: Exercise) -> list[Answer]:
    """Right answers; those of the exercise that a fix-it exercise breaks repair it as well."""
    own = of_kind(exercise, "right")
    if exercise.track != "bugs" or exercise.name in OWN_CONTRACT:
        return own
    variant = re.search(r"/test_(\w+)\.py", exercise.suite.read_text(encoding="utf-8"))
    assert variant is not None
    return [*own, *of_kind(load_kit(ROOT).find(variant[1]), "right")]


def _answer(exercise: Exercise, entry: Entry, source: str) -> Answer:
    known = entry.known
    return Answer(
        entry.name,
        Submission(Path(f"{exercise.name}.py"), source),
        known.get("what", ""),
        frozenset(known.get("loses", "").split()),
        known.get("accepted", ""),
    )
