"""Finds which name of torch an expression stands for, as far as its text tells."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence


class TorchNames:
    """The names that a source has for torch and its parts, by imports and by assignments of those.

    Args:
        nodes: The nodes of the source's syntax tree, parents before their children.
    """

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self._aliases = dict(_imports(nodes))
        self._roots: dict[int, str] = {}
        for node in reversed(nodes):  # children first: each chain grows by one step at a time
            self._find_root(node)
        self._follow(nodes)

    def of(self, node: ast.AST) -> str | None:
        """Return the torch name that a node stands for, if it stands for one."""
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id)
        if self._roots.get(id(node)) in self._aliases:
            match node:
                case ast.Attribute(attr=name) if name != "__dict__":
                    return name
                case ast.Call(args=[_, ast.Constant(str(name)), *_]):
                    return name
                case ast.Subscript(slice=ast.Constant(str(name))):
                    return name
        return None

    def _find_root(self, node: ast.AST) -> None:
        """Record the name with which ``node`` begins, if it is a chain of attributes.

        `getattr`, `vars` and `__dict__` may be links of the chain.
        """
        inner: ast.AST | None = None
        match node:
            case ast.Name(name):
                self._roots[id(node)] = name
            case ast.Attribute(inner):
                pass
            case ast.Call(ast.Name("vars"), [inner]) | ast.Call(ast.Name("getattr"), [inner, *_]):
                pass
            case ast.Subscript(ast.Attribute(inner, "__dict__")):
                pass
            case ast.Subscript(ast.Call(ast.Name("vars"), [inner])):
                pass
            case ast.Call() if is_torch(module := imported_by_call(node)):
                self._roots[id(node)] = str(module)
                self._aliases[str(module)] = str(module).rpartition(".")[2]
        if inner is not None and id(inner) in self._roots:
            self._roots[id(node)] = self._roots[id(inner)]

    def _follow(self, nodes: Sequence[ast.AST]) -> None:
        """Record variables that are assigned a name of torch, if they are bound only once."""
        given = [n for n in nodes if isinstance(n, ast.Assign)]
        times = Counter(_bound(nodes))
        for node in sorted(given, key=lambda one: one.lineno):
            match node.targets:
                case [ast.Name(name)] if times[name] == 1:
                    if self._roots.get(id(node.value)) in self._aliases:
                        self._aliases[name] = self.of(node.value) or ""


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield each name as often as something is bound to it."""
    for node in nodes:
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                yield name
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.alias(name, asname):
                yield asname or name.partition(".")[0]


def _imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds to a part of torch, with that part's real last name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if is_torch(alias.name):
                    yield alias.asname or "torch", alias.name.rpartition(".")[2]
        elif isinstance(node, ast.ImportFrom) and is_torch(node.module):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name


def is_torch(module: str | None) -> bool:
    """Return whether a module is torch or a part of it."""
    return module is not None and (module == "torch" or module.startswith("torch."))


def imported_by_call(node: ast.AST) -> str | None:
    """Return the module that a call of `import_module` or `__import__` names; None otherwise."""
    match node:
        case ast.Call(
            ast.Name("__import__" | "import_module") | ast.Attribute(attr="import_module"),
            [ast.Constant(str(name)), *_],
        ):
            return name
    return None
