"""A fix-it exercise's file is known by whatever names it uses; a repair of it is not."""

from __future__ import annotations

import ast
import re
import textwrap
import time

import pytest

from grader.kit import Exercise, installed_kit
from grader.kit.repairs import fix_it_exercises_in
from grader.kit.stubs import shipped_stub
from tests.support.answers import of_kind

KIT = installed_kit()
FIX_ITS = [one for one in KIT.exercises if not one.diagnosis]


@pytest.mark.parametrize("exercise", FIX_ITS, ids=lambda one: one.name)
def test_file_is_known_as_it_is_given_and_once_it_was_taken_apart(exercise: Exercise) -> None:
    text = shipped_stub(exercise).decode()
    assert exercise in fix_it_exercises_in(text, KIT)
    assert exercise in fix_it_exercises_in(ast.unparse(ast.parse(text)), KIT)
    assert exercise not in fix_it_exercises_in(exercise.solution.read_text(encoding="utf-8"), KIT)


def test_file_is_known_by_other_names() -> None:
    given = shipped_stub(KIT.find("bug4")).decode()
    for old, new in (("weights", "shares"), ("self.", "self.my_"), (" -> Tensor", "")):
        assert old in given
        given = given.replace(old, new)
    assert KIT.find("bug4") in fix_it_exercises_in(given, KIT)


CHANGES = {
    "pass before each return": lambda text: re.sub(
        r"^( *)return ", r"\1pass\n\1return ", text, flags=re.M
    ),
    "constants": lambda text: re.sub(
        r"^( *)(return |q|k|self)", r"\1'here'\n\1seen = 1\n\1\2", text, flags=re.M
    ),
    "all within a function": lambda text: f"def make():\n{textwrap.indent(text, '    ')}",
    "functions that wait for nothing": lambda text: text.replace("def ", "async def "),
    "a branch": lambda text: f"if True:\n{textwrap.indent(text, '    ')}",
    "something that is nested deeply": lambda text: (
        f"{text}\ndef f(x):\n    return {'+'.join('x' * 700)}"
    ),
    "a number too long to be written": lambda text: f"{text}\ndef f(x):\n    return 0x{'f' * 4000}",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("exercise", FIX_ITS, ids=lambda one: one.name)
def test_file_is_known_with_what_changes_nothing(exercise: Exercise, change: str) -> None:
    text = ast.unparse(ast.parse(shipped_stub(exercise)))
    assert exercise in fix_it_exercises_in(CHANGES[change](text), KIT)


def test_functions_within_functions_cost_little() -> None:
    """Each was read once more for each function around it."""
    heads = "".join(f"{' ' * n}def f(a, b):\n" for n in range(80))
    text = heads + f"{' ' * 80}{'a=b;' * 1000}a\n" * 5
    started = time.process_time()
    assert fix_it_exercises_in(text, KIT) == []
    assert time.process_time() - started < 3  # it takes 0.1 s, and took 6


@pytest.mark.parametrize("text", ["", "def f(:", "x = " + "(" * 5000, "\0"])
def test_what_is_no_file_is_none(text: str) -> None:
    assert fix_it_exercises_in(text, KIT) == []


def test_nothing_right_is_taken_for_one() -> None:
    for exercise in KIT.exercises:
        solution = exercise.solution.read_text(encoding="utf-8")
        for source in (solution, *(one.submission.source for one in of_kind(exercise, "right"))):
            assert fix_it_exercises_in(source, KIT) == [], source


def test_text_that_is_too_long_to_be_compared_counts_as_any_of_them() -> None:
    """Ten thousand branches took a quarter of a minute, outside the sandbox."""
    branches = "\n".join(f"    if x: x = {number}" for number in range(10_000))
    assert fix_it_exercises_in(f"def f(x):\n{branches}\n", KIT) == FIX_ITS
