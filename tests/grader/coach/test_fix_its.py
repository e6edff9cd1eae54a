"""A fix-it exercise's file is known by what it computes; nothing else is taken for one."""

from __future__ import annotations

import ast

import pytest

from grader.coach import fix_its
from grader.coach.fix_its import fix_it_exercises_computed_in
from grader.kit import Exercise, installed_kit
from grader.kit.repairs import fix_it_exercises_in
from grader.kit.stubs import shipped_stub
from tests.support.answers import of_kind

KIT = installed_kit()
FIX_ITS = [one for one in KIT.exercises if not one.diagnosis]


class _OneVariableMore(ast.NodeTransformer):
    """Gives each value that is set or returned a variable of its own first."""

    def __init__(self) -> None:
        self._count = 0

    def _first(self, statement: ast.Assign | ast.Return) -> list[ast.stmt]:
        self._count += 1
        name, value = f"extra{self._count}", statement.value
        assert value is not None
        statement.value = ast.Name(name, ast.Load())
        return [ast.Assign([ast.Name(name, ast.Store())], value), statement]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return self._first(node)

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return self._first(node) if node.value else [node]


def padded(text: str | bytes) -> str:
    tree = _OneVariableMore().visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("exercise", FIX_ITS, ids=lambda one: one.name)
def test_file_with_more_variables_is_known(exercise: Exercise) -> None:
    text = padded(shipped_stub(exercise))
    assert exercise not in fix_it_exercises_in(text, KIT)
    assert exercise in fix_it_exercises_computed_in(text, KIT)
    solution = exercise.solution.read_text(encoding="utf-8")
    assert exercise not in fix_it_exercises_computed_in(padded(solution), KIT)


@pytest.mark.parametrize("text", ["", "def f(:", "x = " + "(" * 5000, "\0"])
def test_what_is_no_file_is_none(text: str) -> None:
    assert fix_it_exercises_computed_in(text, KIT) == []


def test_text_is_parsed_once_for_all_and_not_where_it_is_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fix_it_exercises_computed_in("", KIT)  # which reads our own files
    parsed: list[str] = []
    monkeypatch.setattr(fix_its, "parse_most", lambda text: parsed.append(text) or ast.parse(""))
    assert fix_it_exercises_computed_in("x = 1", KIT) == []
    assert fix_it_exercises_computed_in("x" * (fix_its.MAX_CHARS + 1), KIT) == FIX_ITS
    assert parsed == ["x = 1"]


@pytest.mark.slow("each text is read once for each fix-it exercise")
def test_nothing_right_is_taken_for_one() -> None:
    for exercise in KIT.exercises:
        right = [one.submission.source for one in of_kind(exercise, "right")[:2]]
        for source in (exercise.solution.read_text(encoding="utf-8"), *right):
            assert fix_it_exercises_computed_in(source, KIT) == [], source
