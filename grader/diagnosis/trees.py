"""The syntax tree of a submission's source: its nodes, and those where an exception was raised."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from grader.records import Fault
from grader.submission import SourceProblem, Submission, parse

_N = TypeVar("_N", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.lru_cache(maxsize=1)
def tree_of(source: str) -> ast.Module:
    """Parse a source into a tree; an empty one where the source cannot be parsed."""
    try:
        return parse(Submission(Path(), source))
    except SourceProblem:
        return ast.Module(body=[], type_ignores=[])


def failing_statement(fault: Fault, source: str) -> ast.stmt | None:
    """Return the innermost statement in which an exception was raised."""
    line = fault.frames[-1].line if fault.frames else 0
    found = [n for n in nodes_of_kind(source, ast.stmt) if n.lineno <= line <= (n.end_lineno or 0)]
    return min(found, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def failing_function(fault: Fault, source: str) -> Function | None:
    """Return the innermost function in which an exception was raised."""
    line = fault.frames[-1].line if fault.frames else 0
    found = [f for f in functions_of(source) if f.lineno <= line <= (f.end_lineno or 0)]
    return max(found, key=lambda node: node.lineno, default=None)


@functools.lru_cache(maxsize=1)  # each clue asks for some of them, and a source may be long
def nodes_of(source: str) -> list[ast.AST]:
    """Return all nodes of a source's tree."""
    return list(ast.walk(tree_of(source)))


def nodes_of_kind(source: str, kind: type[_N]) -> Iterator[_N]:
    """Yield the nodes of one kind in a source's tree."""
    return (node for node in nodes_of(source) if isinstance(node, kind))


def functions_of(source: str) -> list[Function]:
    """Return all functions of a source, methods and nested ones among them."""
    return [*nodes_of_kind(source, ast.FunctionDef), *nodes_of_kind(source, ast.AsyncFunctionDef)]


def classes_of(source: str) -> Iterator[tuple[ast.ClassDef, list[Function]]]:
    """Yield each class of a source with its own methods."""
    for node in nodes_of_kind(source, ast.ClassDef):
        yield node, [one for one in node.body if isinstance(one, Function)]


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those inside nested functions or classes."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def attributes_of(node: ast.AST, context: type[ast.expr_context]) -> Iterator[ast.Attribute]:
    """Yield the attributes that a piece of code reads, or those that it sets."""
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, context):
            yield one
