"""Known answers of the kit's exercises: right ones in many styles, slow ones, wrong ones."""

from __future__ import annotations

import re
from functools import cache

from grader.authoring.answers import Answer, read_answers
from grader.kit import Exercise, load_kit
from tests.support.paths import ROOT

# Fix-it exercises that ask for more than the contract of what they break.
OWN_CONTRACT = {"bug10", "bug11", "bug14"}


@cache
def answers(exercise: Exercise) -> tuple[Answer, ...]:
    """All of an exercise; those whose point is their bytes are files of their own."""
    return read_answers(exercise)


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
