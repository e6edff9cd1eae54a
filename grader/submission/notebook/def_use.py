"""Split a notebook into statements, and find the names that each of them sets and reads."""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from grader.submission.source import Submission, parse

SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
WORD = re.compile(r"\w+")
MAX_MANGLED_CHARS = 1_000_000  # of a class's name, before each private name in it
MAX_SCOPED_NAMES = 300_000  # scopes within one another, times names; our longest answer has 5,000

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class StatementGroup:
    """Top-level statements that share a line; mostly a single statement.

    Attributes:
        lines: The lines of the source that the group takes.
        sets: The names that the group may set or change.
        replaces: The names that the group certainly gives a new value.
        uses: The names that the group reads when it runs.
        uses_when_called: The names that the group's functions read when they are called.
        imports_all: Whether the group may set any name, as ``import *`` does.
        postpones_annotations: Whether the group has ``from __future__ import annotations``.
    """

    lines: range
    sets: frozenset[str]
    replaces: frozenset[str]
    uses: frozenset[str]
    uses_when_called: frozenset[str]
    imports_all: bool
    postpones_annotations: bool


def read_statement_groups(submission: Submission) -> list[StatementGroup]:
    """Return the statement groups of a submission, in order.

    Raises:
        SourceProblem: The source does not parse.
        SyntaxError: It parses, but breaks another rule of Python's, such as a ``nonlocal`` outside
            a function.
    """
    groups: list[list[ast.stmt]] = []
    last = 0
    for statement in parse(submission).body:
        if _first_line(statement) > last:
            groups.append([])
        groups[-1].append(statement)
        last = _last_line(statement)
    lines = submission.source.split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_statement_group(group, lines) for group in groups]


def _expect_few_scopes(statements: list[ast.stmt], text: str) -> None:
    """Check that no name is looked up through so many scopes that the table takes gigabytes.

    Every word is taken for a name: imports, patterns and handlers bind names as well.

    Raises:
        LookupError: The scopes within one another, times the names, are too many; or private names,
            each of which gets the name of its class, are too long together.
    """
    words = WORD.findall(text)
    private = sum(word.startswith("__") for word in words)
    mangled = private * max(map(len, words), default=0)
    deepest = 0
    waiting: list[tuple[ast.AST, int]] = [(one, 0) for one in statements]
    while waiting:
        node, depth = waiting.pop()
        depth += isinstance(node, SCOPES)
        deepest = max(deepest, depth)
        waiting += [(inner, depth) for inner in ast.iter_child_nodes(node)]
    if deepest * len(words) > MAX_SCOPED_NAMES or mangled > MAX_MANGLED_CHARS:
        raise LookupError("a statement has too many names in too many scopes")


def _statement_group(statements: list[ast.stmt], lines: list[str]) -> StatementGroup:
    first, last = _first_line(statements[0]), _last_line(statements[-1])
    text = "\n".join(lines[first - 1 : last])
    _expect_few_scopes(statements, text)
    table = symtable.symtable(text, "cell", "exec")
    names = [s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()]
    imported = [s for s in statements if isinstance(s, ast.ImportFrom)]
    future = {a.name for s in imported if s.module == "__future__" for a in s.names}
    reads = list(_reads(table, called=False))
    return StatementGroup(
        lines=range(first, last + 1),
        sets=frozenset([*names, *_changed(statements)]) - future,
        replaces=frozenset(name for s in statements for name in _replaced(s)),
        uses=frozenset(name for name, called in reads if not called),
        uses_when_called=frozenset(name for name, called in reads if called),
        imports_all=any(s.names[0].name == "*" for s in imported),
        postpones_annotations="annotations" in future,
    )


def _first_line(statement: ast.stmt) -> int:
    if isinstance(statement, _Definition):
        return min(node.lineno for node in (statement, *statement.decorator_list))
    return statement.lineno


def _last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _reads(table: symtable.SymbolTable, called: bool) -> Iterator[tuple[str, bool]]:
    """Yield the module-level names that code reads, and whether only when a function is called."""
    inside = table.get_type() == "function"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or not inside):
            yield symbol.get_name(), called
    for child in table.get_children():
        at_once = child.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")
        body = child.get_type() == "function" and not at_once
        yield from _reads(child, called or body)


def _changed(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the names whose attributes or items are set, as in ``Attention.forward = forward``."""
    for statement in statements:
        for node in [] if isinstance(statement, _Definition) else ast.walk(statement):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                root: ast.expr = node
                while isinstance(root, ast.Attribute | ast.Subscript):
                    root = root.value
                if isinstance(root, ast.Name):
                    yield root.id


def _replaced(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            # `import a.b` only adds to `a`, so it does not replace `a`; nothing reads a name `a.b`.
            yield from (alias.asname or alias.name for alias in statement.names)
        case ast.Assign():
            yield from (name for target in statement.targets for name in _whole(target))
        case ast.AnnAssign(value=ast.expr()):
            yield from _whole(statement.target)


def _whole(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment gives a new value, not those it sets an item of."""
    match target:
        case ast.Name():
            yield target.id
        case ast.Tuple() | ast.List():
            yield from (element.id for element in target.elts if isinstance(element, ast.Name))
