"""Recognises the file of a fix-it exercise in a text, whatever its names and its layout."""

from __future__ import annotations

import ast
import functools

from grader.kit.manifest import Exercise, Kit
from grader.kit.stubs import shipped_stub

FunctionDumps = frozenset[str]  # one dump for each function of a file, with its names replaced
SELF = "self"


def fix_it_exercises_in(source: str, kit: Kit) -> list[Exercise]:
    """Return the fix-it exercises whose file, as handed out with its mistakes, ``source`` holds.

    The result is empty if ``source`` is no Python.
    """
    try:
        there = _function_dumps(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [one for one in kit.exercises if not one.diagnosis and _stub_dumps(one) <= there]


@functools.cache
def _stub_dumps(exercise: Exercise) -> FunctionDumps:
    return _function_dumps(ast.parse(shipped_stub(exercise)))


def _function_dumps(tree: ast.AST) -> FunctionDumps:
    """Return a text for each function that is the same whatever it and its variables are called."""
    nodes = list(ast.walk(tree))
    return frozenset(_function_dump(node) for node in nodes if isinstance(node, ast.FunctionDef))


def _function_dump(function: ast.FunctionDef) -> str:
    made = _NumberNames().visit(ast.parse(ast.unparse(function)))
    return ast.dump(made)


class _NumberNames(ast.NodeTransformer):
    """Numbers variables, arguments and attributes of ``self`` as they occur; drops docstrings."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"n{len(self._numbers)}")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns, node.decorator_list = "f", None, []
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return self.generic_visit(node)
        plain = ast.Assign([node.target], node.value, lineno=node.lineno)
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
