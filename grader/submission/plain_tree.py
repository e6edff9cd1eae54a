"""Rewrite a syntax tree in a plainer way, to compare what texts compute, however it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from grader.submission.source import parse_text

ASYNCHRONOUS: dict[type[ast.AST], type[ast.AST]] = {
    ast.AsyncFunctionDef: ast.FunctionDef, ast.AsyncFor: ast.For, ast.AsyncWith: ast.With
}  # fmt: skip


def parse_plain(text: str) -> ast.Module:
    """Parse a text, and write what has a plainer form in that.

    What waits for nothing does not wait; ``getattr`` and ``setattr`` of a name that is written down
    are a dot; functions that a module gives a class stand in it.

    Raises:
        SyntaxError: As ``parse_text``, which raises ``ValueError``, ``RecursionError`` and
            ``MemoryError`` as well.
    """
    tree = parse_text(text)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = map(_plain, value)
            else:
                setattr(node, name, _plain(value))
        waiting += ast.iter_child_nodes(node)
    _gather_methods(tree)
    return tree


def _plain(value: Any) -> Any:
    """Return the plainer form of a node, whatever is inside it."""
    while isinstance(value, ast.Await):
        value = value.value
    if kind := ASYNCHRONOUS.get(type(value)):
        return ast.copy_location(kind(**dict(ast.iter_fields(value))), value)
    match value:
        case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(name))], []):
            return ast.copy_location(ast.Attribute(owner, name, ast.Load()), value)
        case ast.Expr(ast.Call(ast.Name("setattr"), [owner, ast.Constant(str(name)), new], [])):
            target = ast.copy_location(ast.Attribute(owner, name, ast.Store()), value)
            return ast.copy_location(ast.Assign([target], new), value)
        case ast.Assign(
            [ast.Name(name)], ast.Call(ast.Name("type"), [_, bases, ast.Dict() as own])
        ):
            inherited = bases.elts if isinstance(bases, ast.Tuple) else [bases]
            members = list(_members(own)) or [ast.copy_location(ast.Pass(), value)]
            return ast.copy_location(ast.ClassDef(name, inherited, [], members, []), value)
    return value


def _members(body: ast.Dict) -> Iterator[ast.stmt]:
    """Yield the statements of a class whose names stand in a dict."""
    for key, value in zip(body.keys, body.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            name = ast.copy_location(ast.Name(key.value, ast.Store()), key)
            yield ast.copy_location(ast.Assign([name], value), key)


def _gather_methods(tree: ast.Module) -> None:
    """Put functions of a module that it gives to its classes into these, each once."""
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    for statement in tree.body:
        match statement:
            case ast.Assign([ast.Attribute(ast.Name(owner), name)], ast.Name(own)):
                if owner in classes and own in functions:
                    classes[owner].body.append(_renamed(functions.pop(own), name))
    for one in classes.values():
        one.body = [_method(member, functions) for member in one.body]


def _method(member: ast.stmt, functions: dict[str, ast.FunctionDef]) -> ast.stmt:
    """Return the function of the module that a class gives a name; else its own statement."""
    match member:
        case ast.Assign([ast.Name(name)], ast.Name(own)) if own in functions:
            return _renamed(functions.pop(own), name)
    return member


def _renamed(function: ast.FunctionDef, name: str) -> ast.FunctionDef:
    fields = {**dict(ast.iter_fields(function)), "name": name}
    return ast.copy_location(ast.FunctionDef(**fields), function)
