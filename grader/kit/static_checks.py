"""What a source must define and may not call, read off its syntax tree."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from grader.submission import SourceProblem

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def check_source(
    tree: ast.Module,
    entry_points: Iterable[str],
    forbidden: frozenset[str] = frozenset(),
    imports: frozenset[str] = frozenset(),
) -> None:
    """Refuse a source without its entry points, or that breaks a rule where ``ast`` can see it.

    What stands under ``if __name__ == "__main__":`` is the learner's own affair.

    Args:
        tree: Of the source.
        entry_points: Names that it must define.
        forbidden: Names of torch that it may not use.
        imports: What it may import beside the standard library; all where empty.

    Raises:
        SourceProblem: An entry point is missing, a forbidden name of torch is used, or something
            is imported that may not be.
    """
    try:
        body = [kept for node in tree.body for kept in _without_main_guard(node)]
        _check_entry_points(body, list(entry_points))
        _check_forbidden(body, forbidden)
        if imports:
            _check_imports(body, imports)
    except RecursionError:
        raise SourceProblem("cannot be read: it is nested too deeply") from None


def _without_main_guard(node: ast.stmt) -> list[ast.stmt]:
    return node.orelse if isinstance(node, ast.If) and _is_main_guard(node) else [node]


def _is_main_guard(node: ast.If) -> bool:
    return (
        isinstance(node.test, ast.Compare)
        and isinstance(node.test.ops[0], ast.Eq)
        and "__name__" in {getattr(n, "id", None) for n in ast.walk(node.test)}
        and "__main__" in {getattr(n, "value", None) for n in ast.walk(node.test)}
    )


def _check_entry_points(body: list[ast.stmt], entry_points: list[str]) -> None:
    if any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in body):
        return  # a star import may bring anything; the worker will tell
    defined = set(_bound_names(body))
    for name in entry_points:
        if name not in defined:
            kind = "class" if name[0].isupper() else "function"
            found = [n.name for n in body if isinstance(n, _Function | ast.ClassDef)]
            listing = ", ".join(f"`{n}`" for n in found) or "no class or function"
            raise SourceProblem(f"defines no {kind} `{name}`; it has {listing}")


def _bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Every name that running the module's statements may bind."""
    for statement in body:
        inside = isinstance(statement, _Function | ast.ClassDef)
        for node in [statement] if inside else ast.walk(statement):
            if isinstance(node, _Function | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).split(".")[0]


def _check_forbidden(body: list[ast.stmt], forbidden: frozenset[str]) -> None:
    nodes = [node for statement in body for node in ast.walk(statement)]
    aliases = dict(_torch_aliases(nodes))
    star = any(
        isinstance(n, ast.ImportFrom) and _is_torch(n.module) and n.names[0].name == "*"
        for n in nodes
    )
    own = {n.name for n in nodes if isinstance(n, _Function | ast.ClassDef)}
    roots = _roots(nodes)
    for node in nodes:
        name = _named(node, aliases, roots)
        if name is None and star and isinstance(node, ast.Name) and node.id not in own:
            name = node.id
        if name in forbidden:
            raise SourceProblem(
                f"uses `{name}`, which this exercise forbids; write that step yourself",
                getattr(node, "lineno", 0),
            )


def _check_imports(body: list[ast.stmt], allowed: frozenset[str]) -> None:
    for node in (node for statement in body for node in ast.walk(statement)):
        for name in _imported(node):
            package = name.partition(".")[0]
            if package not in allowed and package not in sys.stdlib_module_names:
                listing = " and ".join(f"`{one}`" for one in sorted(allowed))
                raise SourceProblem(
                    f"imports `{package}`; beside the standard library this exercise allows "
                    f"{listing} alone. A file is graded by itself: paste in what it needs of yours",
                    getattr(node, "lineno", 0),
                )


def _imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports from."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def _torch_aliases(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Names that an import binds to torch or a part of it, with the last part's real name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_torch(alias.name):
                    yield alias.asname or "torch", alias.name.rpartition(".")[2]
        elif isinstance(node, ast.ImportFrom) and _is_torch(node.module):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name


def _is_torch(module: str | None) -> bool:
    return module is not None and (module == "torch" or module.startswith("torch."))


def _named(node: ast.AST, aliases: dict[str, str], roots: dict[int, str]) -> str | None:
    """The torch name that a node stands for, if it stands for one."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute) and roots.get(id(node)) in aliases:
        return node.attr
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and len(node.args) >= 2
        and roots.get(id(node.args[0])) in aliases
        and isinstance(node.args[1], ast.Constant)
        and isinstance(node.args[1].value, str)
    ):
        return node.args[1].value
    return None


def _roots(nodes: list[ast.AST]) -> dict[int, str]:
    """The name that each chain of attributes begins with, by id of its node.

    Children come after their parents in ``nodes``, so that going backwards each chain is
    lengthened by one step at a time, however long it is.
    """
    found: dict[int, str] = {}
    for node in reversed(nodes):
        if isinstance(node, ast.Name):
            found[id(node)] = node.id
        elif isinstance(node, ast.Attribute) and id(node.value) in found:
            found[id(node)] = found[id(node.value)]
    return found
