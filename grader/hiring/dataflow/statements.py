"""Read statements: they let names stand for values, and values leave by them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from grader.hiring.dataflow.expressions import (
    SEVERAL,
    TOO_DEEP,
    ExpressionReader,
    without_underscore,
)
from grader.hiring.dataflow.parsing import Contract
from grader.hiring.dataflow.values import Function, Instance, Known, Value

NAMES_PER_WORK = 10  # that are compared in the time that one value takes
GROWING = {"append", "extend", "insert", "add", "update"}  # methods that change their object


class StatementReader(ExpressionReader):
    """Reads the statements of one submission.

    Attributes:
        roots: The values that leave a function or an object, but for those that it returns.
        returned: The values that the function returns that is being read.
    """

    def __init__(self, contract: Contract) -> None:
        super().__init__(contract)
        self.roots: list[Value] = []
        self.returned: list[Value] = []

    def read_all(self, body: Sequence[ast.stmt]) -> None:
        """Read some statements, one after the other; what is nested too deeply is noted."""
        self.work(len(body))
        for one in body:
            reader = getattr(self, f"_read_{type(one).__name__}", None)
            if reader is not None:  # nothing becomes of a `pass`
                try:
                    reader(one)
                except RecursionError:
                    self._pass_over(one)

    def _pass_over(self, node: ast.stmt) -> None:
        """Let what a statement returns or binds stand for something too deep to be read."""
        deep = self.value(TOO_DEEP)
        if isinstance(node, ast.Return):
            self.returned.append(deep)
        for one in self._walk(node):
            if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Store):
                self.bind(one, deep)

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield all nodes of a tree; each counts, as a call may have the tree walked once more."""
        for one in ast.walk(node):
            self.work(1)
            yield one

    def _read_Import(self, node: ast.Import) -> None:
        for one in node.names:
            top = one.name.partition(".")[0]
            self.packages.add(top)
            self.names[one.asname or top] = self.value(one.name if one.asname else top)

    def _read_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.packages.add((node.module or "").partition(".")[0])
        for one in node.names:
            self.names[one.asname or one.name] = self.value(f"{node.module}.{one.name}")

    def _read_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names[node.name] = Function(node, self.names)

    def _read_ClassDef(self, node: ast.ClassDef) -> None:
        """Pass over a class: all are read by themselves."""

    def _read_Assign(self, node: ast.Assign) -> None:
        known = self.read(node.value)
        for target in node.targets:
            self.bind(target, known)

    def _read_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.read(node.value))

    def _read_AugAssign(self, node: ast.AugAssign) -> None:
        inputs = [self.read(node.target), self.read(node.value)]
        self.bind(node.target, self.value(type(node.op).__name__, inputs, node))

    def bind(self, target: ast.expr, known: Known) -> None:
        """Let the target of an assignment stand for something."""
        if isinstance(target, ast.Name):
            self.names[target.id] = known
        elif isinstance(target, ast.Tuple | ast.List):
            self._bind_each(target.elts, self.as_value(known))
        elif isinstance(target, ast.Attribute):
            of = self.read(target.value)
            if isinstance(of, Instance):
                of.attributes[target.attr] = known
                if target.attr not in self.contract.words:
                    return  # it is no part of the contract: it counts where it is used
            self.roots.append(self.value(f".{target.attr} =", [of, known], target))
        elif isinstance(target, ast.Subscript):
            inputs = [self.read(target.value), *self.places(target.slice), known]
            made = self.value("[] =", inputs, target)
            if isinstance(target.value, ast.Name):
                self.names[target.value.id] = made
            else:
                self.roots.append(made)

    def _bind_each(self, targets: Sequence[ast.expr], value: Value) -> None:
        as_written = value.what in SEVERAL and len(value.inputs) == len(targets)
        for place, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                self.bind(target.value, self.item(value, "*"))
            else:
                one = value.inputs[place] if as_written else self.item(value, str(place))
                self.bind(target, one)

    def _read_Expr(self, node: ast.Expr) -> None:
        """Let what changes a variable stand for it; whatever else is done for nothing counts."""
        known = self.read(node.value)
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if isinstance(
                self.names.find(name), Value
            ) and (method in GROWING or method != without_underscore(method)):
                self.names[name] = known
            case ast.Call() if isinstance(known, Value) and known.is_made:
                self.roots.append(known)

    def _read_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returned.append(self.as_value(self.read(node.value)))

    def _read_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            self.roots.append(self.value("raise", [self.read(kind)], node))

    def _read_Assert(self, node: ast.Assert) -> None:
        self.roots.append(self.value("assert", [self.read(node.test)], node))

    def _read_If(self, node: ast.If) -> None:
        test = self.as_value(self.read(node.test))
        before, done = self._names_before(), len(self.roots) + len(self.returned)
        self.read_all(node.body)
        one = self.names.swap(before)
        self.read_all(node.orelse)
        for name in sorted(one.keys() | self.names.keys()):
            yes, no = one.get(name), self.names.get(name)
            if isinstance(yes, Value) and isinstance(no, Value) and yes is not no:
                self.names[name] = self.value("if", [test, yes, no], node.test)
            elif no is None and yes is not None:
                self.names[name] = yes
        if len(self.roots) + len(self.returned) > done:
            self.roots.append(self.value("when", [test], node.test))

    def _names_before(self) -> dict[str, Known]:
        """Return all names as they are before a branch or a loop, to compare with those after."""
        self.work(len(self.names) // NAMES_PER_WORK)
        return dict(self.names)

    def _read_For(self, node: ast.For) -> None:
        self._read_loop(node, lambda: self.bind(node.target, self.each(node.iter)), node.iter)

    def _read_While(self, node: ast.While) -> None:
        def begin() -> None:
            self.roots.append(self.value("while", [self.read(node.test)], node.test))

        self._read_loop(node, begin, node.test)

    def _read_loop(
        self, node: ast.For | ast.While, begin: Callable[[], None], at: ast.expr
    ) -> None:
        """Read a loop's body once; what it changes is made of what was and what becomes of it."""
        before = self._names_before()
        begin()
        self.read_all(node.body)
        for name, now in list(self.names.items()):
            was = before.get(name)
            if isinstance(was, Value) and isinstance(now, Value) and now is not was:
                appended = now.what == ".append" and was.what == "List" and not was.inputs
                what, inputs = ("list of", now.inputs[1:]) if appended else ("loop", (was, now))
                self.names[name] = self.value(what, inputs, at)
        self.read_all(node.orelse)

    def _read_With(self, node: ast.With) -> None:
        for one in node.items:
            known = self.read(one.context_expr)
            if isinstance(known, Value) and known.is_made:
                self.roots.append(known)
            if one.optional_vars is not None:
                self.bind(one.optional_vars, known)
        self.read_all(node.body)

    def _read_Try(self, node: ast.Try) -> None:
        handled = [one for handler in node.handlers for one in handler.body]
        self.read_all([*node.body, *handled, *node.orelse, *node.finalbody])

    _read_TryStar = _read_Try
    _read_AsyncFor, _read_AsyncWith = _read_For, _read_With

    def _read_Match(self, node: ast.Match) -> None:
        subject = self.read(node.subject)
        self.roots.append(self.value("match", [subject], node.subject))
        for case in node.cases:
            for one in self._walk(case.pattern):
                if isinstance(one, ast.MatchAs | ast.MatchStar) and one.name is not None:
                    self.names[one.name] = subject
            self.read_all(case.body)

    def _read_Nonlocal(self, node: ast.Nonlocal | ast.Global) -> None:
        """Let names of a function be those of what is around it."""
        self.names.outer.update(node.names)

    _read_Global = _read_Nonlocal

    def _read_Yield(self, node: ast.Yield) -> Known:
        """Let what a generator yields be what it returns."""
        given = self.value("None") if node.value is None else self.as_value(self.read(node.value))
        self.returned.append(given)
        return given
