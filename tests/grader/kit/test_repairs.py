"""A fix-it exercise's file is known by whatever names it uses; a repair of it is not."""

from __future__ import annotations

import ast

import pytest

from grader.kit import Exercise, installed_kit
from grader.kit.repairs import fix_it_exercises_in
from grader.kit.stubs import shipped_stub

KIT = installed_kit()
FIX_ITS = [one for one in KIT.exercises if not one.diagnosis]


@pytest.mark.parametrize("exercise", FIX_ITS, ids=lambda one: one.name)
def test_file_is_known_as_it_is_given_and_once_it_was_taken_apart(exercise: Exercise) -> None:
    text = shipped_stub(exercise)
    assert exercise in fix_it_exercises_in(text, KIT)
    assert exercise in fix_it_exercises_in(ast.unparse(ast.parse(text)), KIT)
    assert exercise not in fix_it_exercises_in(exercise.solution.read_text(encoding="utf-8"), KIT)


def test_file_is_known_by_other_names() -> None:
    given = shipped_stub(KIT.find("bug4")).decode()
    for old, new in (("weights", "shares"), ("self.", "self.my_"), (" -> Tensor", "")):
        assert old in given
        given = given.replace(old, new)
    assert KIT.find("bug4") in fix_it_exercises_in(given, KIT)


@pytest.mark.parametrize("text", ["", "def f(:", "x = " + "(" * 5000, "\0"])
def test_what_is_no_file_is_none(text: str) -> None:
    assert fix_it_exercises_in(text, KIT) == []


def test_no_solution_of_an_exercise_is_taken_for_one() -> None:
    for exercise in KIT.exercises:
        assert fix_it_exercises_in(exercise.solution.read_text(encoding="utf-8"), KIT) == [], (
            exercise.name
        )
