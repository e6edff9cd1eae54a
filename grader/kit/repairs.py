"""Recognises the file of a fix-it exercise in a text, whatever its names and its layout."""

from __future__ import annotations

import ast
import functools

from grader.kit.manifest import Exercise, Kit
from grader.kit.stubs import pristine

Shapes = frozenset[str]  # one dump for each function of a file, with its names replaced
BOUND = "self"


def given_as(source: str, kit: Kit) -> list[Exercise]:
    """Return the fix-it exercises whose file, as handed out with its mistakes, ``source`` holds.

    The result is empty if ``source`` is no Python.
    """
    try:
        there = _shapes(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [one for one in kit.exercises if not one.diagnosis and _given(one) <= there]


@functools.cache
def _given(exercise: Exercise) -> Shapes:
    return _shapes(ast.parse(pristine(exercise)))


def _shapes(tree: ast.AST) -> Shapes:
    """Return a text for each function that is the same whatever it and its variables are called."""
    nodes = list(ast.walk(tree))
    return frozenset(_shape(node) for node in nodes if isinstance(node, ast.FunctionDef))


def _shape(function: ast.FunctionDef) -> str:
    made = _Numbered().visit(ast.parse(ast.unparse(function)))
    return ast.dump(made)


class _Numbered(ast.NodeTransformer):
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
        if isinstance(of, ast.Name) and of.id == BOUND:
            return ast.Name(self._number(f"{BOUND}.{node.attr}"), node.ctx)
        return self.generic_visit(node)
