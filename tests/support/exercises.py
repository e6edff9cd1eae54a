"""All exercises with what is known of each, as a table: ``docs/exercises.md``.

``python -m tests.support.exercises`` writes it, from the manifest, suites and wrong answers.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

from grader.diagnosis.catalogue import mistakes_for
from grader.diagnosis.edits import read_edits
from grader.kit import Exercise, load_kit
from grader.suite import checks_of, load_suite
from tests.support.answers import of_kind
from tests.support.paths import ROOT

EXERCISES_PAGE = ROOT / "docs" / "exercises.md"
PAGE_HEAD = """# Exercises

Made by `python -m tests.support.exercises`. *Known* are the mistakes that a report can name,
*caught* the wrong answers of the tests that lose points, *right* those that keep
all of them.

| Exercise | What | Level | Checks | Points | Known | Caught | Right |
|---|---|---|---:|---:|---:|---:|---:|
"""


def table() -> str:
    """The whole file."""
    return PAGE_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in _rows())


def _rows() -> Iterator[list[str]]:
    for exercise in load_kit(ROOT).exercises:
        suite = load_suite(str(exercise.suite), exercise.suite.name)
        worth = [*map(_points, checks_of(suite).values())]
        edits = read_edits(exercise.mistakes)
        caught = [one for one in of_kind(exercise, "wrong") if not one.accepted]
        counts = [
            *(len(worth), sum(worth) - exercise.begins_at),
            *(_known(exercise, suite), len(edits) + len(caught)),
            len(of_kind(exercise, "right")),
        ]
        known = [exercise.name, exercise.title, exercise.level]
        yield [*known, *(str(count or "–") for count in counts)]


def _points(check: object) -> int:
    """What a check is worth."""
    assert inspect.isfunction(check)
    marks = [mark for mark in getattr(check, "pytestmark", ()) if mark.name == "points"]
    return int(marks[0].args[0]) if marks else 1


def _known(exercise: Exercise, suite: ModuleType) -> int:
    """How many mistakes a report can name: of the pipeline, and edits that have a sentence."""
    if not exercise.diagnosis:
        return 0
    layout = getattr(suite.contract, "layout", None)
    steps = [] if layout is None else mistakes_for(layout.features)
    return len(steps) + sum(bool(one.says) for one in read_edits(exercise.mistakes))


if __name__ == "__main__":
    EXERCISES_PAGE.write_text(table(), encoding="utf-8")
    sys.stdout.write(f"wrote {EXERCISES_PAGE.relative_to(ROOT)}\n")
