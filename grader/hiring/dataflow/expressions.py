"""Read expressions: each comes to a value."""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from grader.hiring.dataflow.parsing import Contract
from grader.hiring.dataflow.values import ITEM, KEYWORD, Function, Instance, Known, Names, Value

# Of a submission: values with their inputs, statements read and names compared, however often.
MAX_WORK = 40_000  # twenty-five times as much as our longest answer takes
MAX_WHAT_CHARS = 200  # of the name of an operation
UNKNOWN, TEXT, ITSELF = "V", "S", "self"
TOO_DEEP = "…"  # what is nested too deeply to be read
ALL_NAMED = "**"  # the name of what a call hands on by ``**named``
SEVERAL = ("Tuple", "List")  # written out, one value for each place
BUILTINS = frozenset(dir(builtins))
INHERITED = {"training"}  # attributes of every module
REGISTERING = {"register_buffer", "register_parameter", "add_module", "register_module"}
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class TooMuch(Exception):
    """A submission takes more work to follow than is done."""


class ExpressionReader:
    """Reads the expressions of one submission.

    Attributes:
        contract: What the stub gives.
        outermost: The names of the module.
        names: The names of the function that is being read.
        packages: The packages that the submission imports.
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.outermost = self.names = Names()
        self.packages: set[str] = set()
        self._work = 0

    @abstractmethod
    def enter(
        self, function: Function, given: Sequence[Known], named: Mapping[str, Known]
    ) -> Known:
        """Return what a function of the submission gives when it is called."""

    @abstractmethod
    def bind(self, target: ast.expr, known: Known) -> None:
        """Let the target of an assignment stand for something."""

    @contextmanager
    def within(self, names: Names) -> Iterator[None]:
        """Read with other names for a while."""
        before, self.names = self.names, names
        try:
            yield
        finally:
            self.names = before

    def value(
        self, what: str, inputs: Iterable[Known] = (), at: ast.AST | None = None, kind: str = ""
    ) -> Value:
        """Return a new value.

        Raises:
            TooMuch: There are too many.
        """
        made_of = tuple(map(self.as_value, inputs))
        self.work(1 + len(made_of))
        first = getattr(at, "lineno", 0)
        last = getattr(at, "end_lineno", None) or first
        return Value(what[:MAX_WHAT_CHARS], made_of, kind, first, last)

    def work(self, amount: int) -> None:
        """Count what is done.

        Raises:
            TooMuch: It is too much.
        """
        self._work += amount
        if self._work > MAX_WORK:
            raise TooMuch

    def as_value(self, known: Known) -> Value:
        """Return a value as it is, an object as one, and of a function what it would give."""
        if isinstance(known, Value):
            return known
        if isinstance(known, Instance):
            return self.value(ITSELF)
        return self.as_value(self.enter(known, (), {}))

    def item(self, of: Known, which: str) -> Value:
        """Return one of several values that come together."""
        return self.value(f"[{which}]", [of], kind=ITEM)

    def each(self, of: ast.expr) -> Value:
        """Return what the variable of a loop stands for."""
        return self.value("each", [self.read(of)], of)

    def places(self, node: ast.expr) -> list[Value]:
        """Return what stands between square brackets, a value for each axis."""
        if isinstance(node, ast.Tuple):
            return [place for one in node.elts for place in self.places(one)]
        if isinstance(node, ast.Slice):
            ends = {"from": node.lower, "to": node.upper, "by": node.step}
            there = {name: one for name, one in ends.items() if one is not None}
            inputs = [self.read(one) for one in there.values()]
            return [self.value(f":{' '.join(there)}", inputs, node)]
        return [self.as_value(self.read(node))]

    def read(self, node: ast.expr) -> Known:
        """Return what an expression comes to."""
        reader = getattr(self, f"_read_{type(node).__name__}", self._read_other)
        known: Known = reader(node)
        return known

    def _read_other(self, node: ast.expr) -> Known:
        inner = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return self._made(type(node).__name__, inner, node)

    def _made(self, what: str, inner: Iterable[ast.expr], at: ast.AST) -> Value:
        return self.value(what, [self.read(one) for one in inner], at)

    def _read_Constant(self, node: ast.Constant) -> Known:
        held: Any = node.value
        if isinstance(held, str):
            return self.value(TEXT)
        if type(held) in (int, float):
            try:
                return self.value(f"{float(held):g}")  # .5 is 0.5
            except OverflowError:
                return self.value(UNKNOWN)
        return self.value(str(held) if held in (None, True, False, ...) else UNKNOWN)

    def _read_JoinedStr(self, node: ast.JoinedStr) -> Known:
        return self.value(TEXT)

    def _read_Name(self, node: ast.Name) -> Known:
        known = self.names.find(node.id)
        if known is not None:
            return known
        return self.value(node.id if node.id in BUILTINS else UNKNOWN)

    def _read_Attribute(self, node: ast.Attribute) -> Known:
        of, name = self.read(node.value), node.attr
        if isinstance(of, Instance):
            return self._own(of, name)
        if isinstance(of, Value) and not of.inputs and of.what not in (UNKNOWN, TEXT):
            return self.value(f"{of.what}.{name}")  # torch.inf, x.dtype
        return self.value(f".{name}", [of], node)

    def _own(self, of: Instance, name: str) -> Known:
        """Return what ``self.name`` is, under whatever name the author keeps it."""
        if name in of.methods and name not in self.contract.defined:
            return Function(of.methods[name], self.outermost, of)
        if name in self.contract.words or name in INHERITED:
            return self.value(f"{ITSELF}.{name}")
        return of.attributes.get(name) or self.value(f"{ITSELF}.{UNKNOWN}")

    def _read_Call(self, node: ast.Call) -> Known:
        given = [known for one in node.args for known in self._given(one)]
        named = {one.arg or ALL_NAMED: self.read(one.value) for one in node.keywords}
        inputs = [*given, *(self.value(f"{n}=", [named[n]], kind=KEYWORD) for n in sorted(named))]
        if isinstance(node.func, ast.Attribute):
            of = self.read(node.func.value)
            name = node.func.attr
            if isinstance(of, Instance):
                self._register(of, node, given)
            if not self._knows(of, name):
                return self.value(f".{without_underscore(name)}", [of, *inputs], node)
        called = self.read(node.func)
        if isinstance(called, Function):
            return self.enter(called, given, named)
        if isinstance(called, Value) and not called.inputs:
            return self.value(f"{called.what}()", inputs or [self.value("")], node)
        return self.value("call", [called, *inputs], node)

    def _given(self, node: ast.expr) -> list[Known]:
        """Return an argument of a call; of ``*given``, all that it is known to hold."""
        if not isinstance(node, ast.Starred):
            return [self.read(node)]
        known = self.read(node.value)
        if isinstance(known, Value) and known.what in SEVERAL:
            return [*known.inputs]
        return [self.value("Starred", [known], node)]

    def _knows(self, of: Known, name: str) -> bool:
        """Return whether a package or the submission says what is called by this name."""
        if isinstance(of, Instance):
            return name in self.contract.words or name in of.methods or name in of.attributes
        return (
            isinstance(of, Value) and not of.inputs and of.what.partition(".")[0] in self.packages
        )

    def _register(self, of: Instance, node: ast.Call, given: Sequence[Known]) -> None:
        """Keep what ``self.register_buffer("mask", …)`` makes an attribute."""
        match node:
            case ast.Call(ast.Attribute(attr=method), [ast.Constant(value=str(name)), _, *_]):
                if method in REGISTERING:
                    of.attributes[name] = given[1]

    def _read_BinOp(self, node: ast.BinOp) -> Known:
        return self._made(type(node.op).__name__, [node.left, node.right], node)

    def _read_UnaryOp(self, node: ast.UnaryOp) -> Known:
        inner = self.as_value(self.read(node.operand))
        if isinstance(node.op, ast.USub) and not inner.inputs:
            what = inner.what
            return self.value(what[1:] if what.startswith("-") else f"-{what}")
        return self.value(type(node.op).__name__, [inner], node)

    def _read_BoolOp(self, node: ast.BoolOp) -> Known:
        return self._made(type(node.op).__name__, node.values, node)

    def _read_Compare(self, node: ast.Compare) -> Known:
        what = " ".join(type(one).__name__ for one in node.ops)
        return self._made(what, [node.left, *node.comparators], node)

    def _read_IfExp(self, node: ast.IfExp) -> Known:
        return self._made("if", [node.test, node.body, node.orelse], node)

    def _read_Lambda(self, node: ast.Lambda) -> Known:
        return Function(node, self.names)

    def _read_NamedExpr(self, node: ast.NamedExpr) -> Known:
        known = self.read(node.value)
        self.bind(node.target, known)
        return known

    def _read_Subscript(self, node: ast.Subscript) -> Known:
        of = self.as_value(self.read(node.value))
        places = self.places(node.slice)
        which = places[0].what if len(places) == 1 and not places[0].inputs else ""
        if not which.removeprefix("-").isdecimal():
            return self.value("[]", [of, *places], node)
        if of.what in SEVERAL and int(which) in range(len(of.inputs)):
            return of.inputs[int(which)]
        return self.item(of, which)

    def _read_comprehension(self, node: Comprehension) -> Known:
        with self.within(Names(self.names)):
            asked: list[ast.expr] = []
            for one in node.generators:
                self.bind(one.target, self.each(one.iter))
                asked += one.ifs
            made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return self._made("list of", [*made, *asked], node)

    _read_ListComp = _read_SetComp = _read_GeneratorExp = _read_DictComp = _read_comprehension


def without_underscore(name: str) -> str:
    """Return a method's name, the same where it changes its tensor in place: ``add_``."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name
