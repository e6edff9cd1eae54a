"""Read a submission, statement by statement, function by function."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from grader.hiring.dataflow.expressions import ALL_NAMED, TOO_DEEP, UNKNOWN, TooMuch
from grader.hiring.dataflow.parsing import Contract, parse_most, statements_in
from grader.hiring.dataflow.statements import StatementReader
from grader.hiring.dataflow.values import (
    Definition,
    Function,
    Instance,
    Known,
    Names,
    Value,
    reachable,
)

MAX_CALLS = 8  # of functions within one another that are followed
MAX_DECORATORS = 10  # that are looked at
DEPTH = 1  # steps back that an operation is told apart by; with two, one change is many


class Operation(NamedTuple):
    """One operation of a submission, described without any name of its author's.

    Attributes:
        what: The operation, and those that made what it takes.
        first: The line on which it begins.
        last: The line on which it ends.
    """

    what: str
    first: int
    last: int


def read_operations(source: str, contract: Contract) -> list[Operation]:
    """Return the operations on which depends what a submission gives.

    Lines that do not parse are passed over.

    Raises:
        TooMuch: The submission makes too many values, or nests them too deeply.
    """
    return operations_in(parse_most(source), contract)


def operations_in(tree: ast.Module, contract: Contract) -> list[Operation]:
    """Return the same as ``read_operations``, from a source's syntax tree."""
    try:
        roots = _Reader(contract).read_module(tree)
        found = list(reachable(roots))
        if any(value.what == TOO_DEEP for value in found):
            raise TooMuch
        made = [value for value in found if value.is_made]
        return [Operation(value.describe(DEPTH), value.first, value.last) for value in made]
    except RecursionError:
        raise TooMuch from None


class _Reader(StatementReader):
    """Reads a module, its classes and its functions."""

    def __init__(self, contract: Contract) -> None:
        super().__init__(contract)
        self._within: list[ast.AST] = []  # the functions that are being entered
        self._entered: set[ast.AST] = set()  # the functions that were read
        self._handed_on: frozenset[str] = frozenset()  # names that are read other than to call them
        self._left = Names()  # of the function that was left last

    def read_module(self, tree: ast.Module) -> list[Value]:
        """Return the values that leave the functions and classes of a module."""
        self._handed_on = _names_handed_on(tree)
        self.read_all(tree.body)
        self.roots.clear()  # what a module does when it is run is no part of an answer
        self._entered.clear()
        for one in ast.walk(tree):
            if isinstance(one, ast.ClassDef):
                self._read_class(one)
        for name in sorted(self.outermost.keys() & self.contract.defined):
            known = self.outermost[name]
            if isinstance(known, Function):
                self._read_entry(known)
            elif isinstance(known, Value):
                self.roots.append(known)
        functions = [one for one in self.outermost.values() if isinstance(one, Function)]
        self._read_left([one for one in functions if self._is_handed_on(one.node)])
        return self.roots

    def _read_class(self, node: ast.ClassDef) -> None:
        within = statements_in(node)
        methods = {one.name: one for one in within if isinstance(one, ast.FunctionDef)}
        own, own_names = Instance(methods), Names(self.outermost)
        with self.within(own_names):
            self.read_all([one for one in node.body if not isinstance(one, ast.FunctionDef)])
        own.attributes.update(own_names)
        theirs = node.name not in self.contract.defined
        for name in sorted(methods, key=lambda name: name != "__init__"):
            given = name in self.contract.defined or name.startswith("__")
            if given or (theirs and name == "forward"):
                self._read_entry(Function(methods[name], self.outermost, own))
        lambdas = [one for one in own_names.values() if isinstance(one, Function)]
        mine = [*(one.node for one in lambdas), *methods.values()]
        self._read_left([Function(one, self.outermost, own) for one in mine])

    def _read_left(self, functions: Sequence[Function]) -> None:
        """Read functions that may be called and were not: as ``_mix`` in ``forward = _mix``."""
        for one in functions:
            if one.node not in self._entered:
                self._read_entry(one)

    def _is_handed_on(self, node: Definition) -> bool:
        """Return whether a function of the module is named other than to call it."""
        if isinstance(node, ast.Lambda):
            return True
        return bool(node.decorator_list) or node.name in self._handed_on

    def _read_entry(self, function: Function) -> None:
        """Read a function that is called from outside, with what the contract gives it."""
        result = self.as_value(self.enter(function, (), {}))
        if result.is_made or result.kind or result.what == TOO_DEEP:
            self.roots.append(Value("return", (result,), "", result.first, result.last))
        elif getattr(function.node, "name", "") != "__init__":  # unfinished: what there is counts
            self.roots += [one for one in self._left.values() if isinstance(one, Value)]

    def enter(
        self, function: Function, given: Sequence[Known], named: Mapping[str, Known]
    ) -> Known:
        """Return what a function gives; an operation on what it takes if it is being entered."""
        self.work(1 + len(given))
        node = function.node
        if node in self._within or len(self._within) >= MAX_CALLS:
            return self.value("call", given or [self.value("")])
        names = Names(function.around)
        self._fill(names, function, given, named)
        before, self.returned = self.returned, []
        self._entered.add(node)
        self._within.append(node)
        try:
            with self.within(names):
                if isinstance(node, ast.Lambda):
                    self.returned = [self.as_value(self.read(node.body))]
                else:
                    self.read_all(node.body)
        finally:
            self._within.pop()
            returned, self.returned, self._left = self.returned, before, names
        if len(returned) == 1:
            return returned[0]
        return self.value("if", returned) if returned else self.value("None")

    def _fill(
        self,
        names: Names,
        function: Function,
        given: Sequence[Known],
        named: Mapping[str, Known],
    ) -> None:
        """Let the arguments of a function stand for what it is called with."""
        node = function.node
        wanted = [*node.args.posonlyargs, *node.args.args]
        if function.owner is not None and not _is_static(node):
            given = [function.owner, *given]
        names.update({one.arg: self.value(UNKNOWN) for one in _arguments(node)})
        if self._within:
            optional = wanted[len(wanted) - len(node.args.defaults) :]
            for one, default in zip(optional, node.args.defaults, strict=True):
                names[one.arg] = self.read(default)
        else:  # it is called from outside: the contract says by what
            name = getattr(node, "name", "") if node.args.vararg is not None else ""
            given = [*given, *map(self.value, self.contract.arguments.get(name, ()))]
        if not self._within or ALL_NAMED in named:
            words = [one.arg for one in _arguments(node) if one.arg in self.contract.words]
            names.update({word: self.value(word) for word in words})
        if node.args.vararg is not None:
            names[node.args.vararg.arg] = self.value("Tuple", given[len(wanted) :])
        names.update({one.arg: known for one, known in zip(wanted, given, strict=False)})
        names.update({name: known for name, known in named.items() if name in names})


def _names_handed_on(tree: ast.AST) -> frozenset[str]:
    """Return the names that stand for what they name, attributes, and texts that may be a name."""
    called = {id(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
    found = set()
    for one in ast.walk(tree):
        match one:
            case ast.Name(id=name, ctx=ast.Load()) if id(one) not in called:
                found.add(name)
            case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Constant(value=str(name)):
                found.add(name)
    return frozenset(found)


def _is_static(node: Definition) -> bool:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list[:MAX_DECORATORS]
    return any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in decorators)


def _arguments(node: Definition) -> list[ast.arg]:
    """Return all arguments of a function."""
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [*named, *(one for one in (node.args.vararg, node.args.kwarg) if one is not None)]
