"""Recognises the file of a fix-it exercise in a text, whatever its names and its layout."""

from __future__ import annotations

import ast
import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from grader.kit.kits import Exercise, Kit
from grader.kit.stubs import shipped_stub
from grader.submission.plain_tree import parse_plain

StatementDumps = Counter[str]  # how often a file has each statement, its names replaced
SELF = "self"
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
INNER_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
MAX_NODES = 30_000  # of a syntax tree; the longest of our files has 1,500
LEAST_SHARE = 0.8  # of a fix-it file's statements, beside those that make its mistake


def fix_it_exercises_in(source: str, kit: Kit) -> list[Exercise]:
    """Return the fix-it exercises whose file, as handed out with its mistakes, ``source`` holds.

    The result is empty if ``source`` is no Python. A text that is too long to be compared counts as
    holding all of them.
    """
    fix_its = [one for one in kit.exercises if not one.diagnosis]
    try:
        tree = parse_plain(source)
        if sum(1 for _ in itertools.islice(ast.walk(tree), MAX_NODES)) == MAX_NODES:
            return fix_its
        there = _statement_dumps(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [one for one in fix_its if _is_held(one, there)]


def _is_held(exercise: Exercise, there: StatementDumps) -> bool:
    """Return whether statements have an exercise's mistake, and most of its file beside."""
    given, mistaken = _stub_dumps(exercise)
    share = (given & there).total() / max(given.total(), 1)
    return mistaken <= there and share >= LEAST_SHARE


@functools.cache
def _stub_dumps(exercise: Exercise) -> tuple[StatementDumps, StatementDumps]:
    """Return the statements of a fix-it file, and those that its solution has otherwise."""
    given = _statement_dumps(ast.parse(shipped_stub(exercise)))
    return given, given - _statement_dumps(ast.parse(exercise.solution.read_bytes()))


def _statement_dumps(tree: ast.AST) -> StatementDumps:
    """Count the statements of all functions, each as a text without the names that it uses.

    Names are numbered function by function, so that a text says which values meet. What does
    nothing is left out; what is nested too deeply or has a number too long to be read as well.
    """
    found: StatementDumps = Counter()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names, own = _NumberNames(), list(_own_statements(function))
            read = {name for one in own for name in _names_read(one)}
            for one in own:
                if not _is_idle(one, read):
                    with suppress(RecursionError, ValueError):
                        found[ast.dump(names.visit(one))] += 1
    return found


def _own_statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield a function's statements in their order, without blocks, and not those of inner ones."""
    left: list[ast.AST] = [function]
    while left:
        node = left.pop()
        if isinstance(node, ast.stmt):
            yield _without_blocks(node)
        inside = [one for one in ast.iter_child_nodes(node) if isinstance(one, INNER_BLOCKS)]
        left += [one for one in reversed(inside) if not isinstance(one, SCOPES)]


def _without_blocks(statement: ast.stmt) -> ast.stmt:
    fields: dict[str, Any] = {
        name: [one for one in value if not isinstance(one, INNER_BLOCKS)]
        if isinstance(value, list)
        else value
        for name, value in ast.iter_fields(statement)
    }
    return type(statement)(**fields)


def _names_read(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _is_idle(statement: ast.stmt, read: set[str]) -> bool:
    """Return whether a statement does nothing: it sets what is never read, or stands alone."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return all(isinstance(one, ast.Name) and one.id not in read for one in targets)
    return isinstance(statement, ast.Pass)


class _NumberNames(ast.NodeTransformer):
    """Numbers variables, arguments and attributes of ``self`` as they occur."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"n{len(self._numbers)}")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns, node.decorator_list = "f", None, []
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return self.generic_visit(node)
        plain = ast.Assign([node.target], node.value)
        return self.generic_visit(plain)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._number(node.arg))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._number(node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        of = node.value
        if isinstance(of, ast.Name) and of.id == SELF:
            return ast.Name(self._number(f"{SELF}.{node.attr}"), node.ctx)
        return self.generic_visit(node)
