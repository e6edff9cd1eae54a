"""Checks by its syntax tree that a source defines what it must, and uses nothing forbidden."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from grader.kit.torch_names import TorchNames, imported_by_call, is_torch
from grader.submission import SourceProblem

MAX_NAMES_LISTED = 12
MAX_NAME_CHARS = 100  # of a name that the file chose, in a message
_DEFINING = {"exec", "globals", "setattr", "vars", "locals"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def check_source(
    tree: ast.Module,
    entry_points: Iterable[str],
    forbidden: frozenset[str] = frozenset(),
    imports: frozenset[str] = frozenset(),
) -> None:
    """Raise if a source lacks an entry point, or breaks a rule as far as its syntax tree shows.

    What stands under ``if __name__ == "__main__":`` is not checked: it is the learner's own affair.

    Args:
        tree: The syntax tree of the source.
        entry_points: Names that the source must define.
        forbidden: Names of torch that the source may not use.
        imports: Packages that may be imported beside the standard library; all where empty.

    Raises:
        SourceProblem: An entry point is missing, a forbidden name of torch is used, or something
            is imported that may not be.
    """
    try:
        body = [kept for node in tree.body for kept in _without_main_guard(node)]
        _check_entry_points(body, list(entry_points))
        nodes = [node for statement in body for node in ast.walk(statement)]
        _check_forbidden(nodes, forbidden)
        if imports:
            _check_imports(nodes, imports)
    except RecursionError:
        raise SourceProblem("cannot be read: it is nested too deeply") from None


def forbidden_use(name: str, line: int) -> SourceProblem:
    """Return the problem to report where a line, 0 if none is known, uses a forbidden name."""
    return SourceProblem(
        f"uses `{name}`, which this exercise forbids; write that step yourself", line
    )


def _without_main_guard(node: ast.stmt) -> list[ast.stmt]:
    return node.orelse if isinstance(node, ast.If) and _is_main_test(node.test) else [node]


def _is_main_test(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]):
            return True
        case ast.Compare(ast.Constant("__main__"), [ast.Eq()], [ast.Name("__name__")]):
            return True
        case ast.BoolOp(ast.And()):
            return any(map(_is_main_test, test.values))
    return False


def _check_entry_points(body: list[ast.stmt], entry_points: list[str]) -> None:
    if any(map(_may_define_anything, body)):
        return  # the worker will tell
    defined = set(_bound_names(body))
    for name in entry_points:
        if name not in defined:
            kind = "class" if name[0].isupper() else "function"
            found = [n.name for n in body if isinstance(n, _Function | ast.ClassDef)]
            listing = ", ".join(f"`{_shortened(n)}`" for n in found[:MAX_NAMES_LISTED])
            listing = listing or "no class or function"
            if (more := len(found) - MAX_NAMES_LISTED) > 0:
                listing += f" and {more} more"
            raise SourceProblem(f"defines no {kind} `{name}`; it has {listing}")


def _shortened(name: str) -> str:
    return f"{name[:MAX_NAME_CHARS]}…" if len(name) > MAX_NAME_CHARS else name


def _may_define_anything(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.names[0].name == "*"
    return not isinstance(statement, _Function | ast.ClassDef) and any(
        isinstance(node, ast.Name) and node.id in _DEFINING for node in ast.walk(statement)
    )


def _bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield every name that running the module's statements may bind."""
    for statement in body:
        inside = isinstance(statement, _Function | ast.ClassDef)
        for node in [statement] if inside else ast.walk(statement):
            if isinstance(node, _Function | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).split(".")[0]


def _check_forbidden(nodes: list[ast.AST], forbidden: frozenset[str]) -> None:
    star = any(
        isinstance(n, ast.ImportFrom) and is_torch(n.module) and n.names[0].name == "*"
        for n in nodes
    )
    own = {n.name for n in nodes if isinstance(n, _Function | ast.ClassDef)}
    names = TorchNames(nodes)
    for node in nodes:
        name = names.of(node)
        if name is None and star and isinstance(node, ast.Name) and node.id not in own:
            name = node.id
        if name in forbidden:
            raise forbidden_use(str(name), getattr(node, "lineno", 0))


def _check_imports(nodes: list[ast.AST], allowed: frozenset[str]) -> None:
    for node in nodes:
        for name in _imported(node):
            package = name.partition(".")[0]
            if package not in allowed and package not in sys.stdlib_module_names:
                listing = " and ".join(f"`{one}`" for one in sorted(allowed))
                package = _shortened(package)
                raise SourceProblem(
                    f"imports `{package}`; besides the standard library this exercise "
                    f"allows {listing} alone. A file is graded by itself: paste in what it needs "
                    "of yours",
                    getattr(node, "lineno", 0),
                )


def _imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement or a call imports from."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module else []
    name = imported_by_call(node)
    return [name] if name and not name.startswith(".") else []
