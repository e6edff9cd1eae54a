"""Mutants of a solution: one small change each, which its suite has to notice.

A mutant that earns every point shows something that no check asks for, unless it computes the same
as the solution.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")
OTHER_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.And: ast.Or, ast.Or: ast.And, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ORDERED_OPERATORS = (ast.Sub, ast.Div, ast.MatMult)  # whose operands may be swapped by mistake
# Calls whose result has the shape of what they are given: without them a program still runs.
SHAPE_KEEPING_CALLS = frozenset({
    "abs", "bfloat16", "clamp", "clamp_max", "clamp_min", "clone", "contiguous", "cos", "cumsum",
    "detach", "double", "dropout", "exp", "flip", "float", "gelu", "layer_norm", "log",
    "log_softmax", "masked_fill", "norm", "normalize", "reciprocal", "relu", "requires_grad_",
    "rms_norm", "roll", "rsqrt", "sigmoid", "silu", "sin", "softmax", "sort", "sqrt", "square",
    "tanh", "to", "tril", "triu", "type_as",
})  # fmt: skip
OTHER_NAMES = {
    one: other
    for pair in (
        ("sum", "mean"), ("max", "min"), ("amax", "amin"), ("argmax", "argmin"),
        ("zeros", "ones"), ("tril", "triu"), ("sin", "cos"),
    )
    for one, other in (pair, pair[::-1])
}  # fmt: skip
# What is no part of the program's work: types, messages, decorators.
UNCHANGED_FIELDS = frozenset({"annotation", "returns", "decorator_list"})
UNCHANGED_NODES = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


class Mutant(NamedTuple):
    """A solution with one small change.

    Attributes:
        line: Number of the line in the solution that has changed.
        change: The statement before and after: ``x = a + b -> x = a - b``.
        source: The source, as ``ast.unparse`` writes it.
    """

    line: int
    change: str
    source: str


class _Place(NamedTuple):
    """Where a node hangs in a tree: in a field of its owner, in a list there as which item."""

    owner: ast.AST
    field: str
    item: int | None

    def put(self, node: ast.AST) -> None:
        if self.item is None:
            setattr(self.owner, self.field, node)
        else:
            getattr(self.owner, self.field)[self.item] = node


def mutants(source: str) -> list[Mutant]:
    """Return each different program that one small change makes of a source."""
    tree = ast.parse(source)
    seen, found = {ast.unparse(tree)}, []
    for statement, place, node in _places(tree, tree):
        before = _told(statement)
        for changed in (one for operator in OPERATORS for one in operator(node)):
            place.put(changed)
            text = ast.unparse(tree)
            after = _told(changed if node is statement else statement)
            place.put(node)
            if text not in seen:
                seen.add(text)
                line = getattr(node, "lineno", 0) or getattr(statement, "lineno", 0)
                found.append(Mutant(line, f"{before} -> {after}", text))
    return found


def drawn(every: Sequence[_T], most: int, seed: int) -> list[_T]:
    """Return what a seed draws of these, in their order; all if there are no more than ``most``."""
    places = range(len(every))
    chosen = random.Random(seed).sample(places, min(most, len(every)))
    return [every[place] for place in sorted(chosen)]


def _places(owner: ast.AST, statement: ast.AST) -> Iterator[tuple[ast.AST, _Place, ast.AST]]:
    """Yield each node that may change, with its statement and the place where it hangs."""
    for field, value in ast.iter_fields(owner):
        if field in UNCHANGED_FIELDS:
            continue
        for item, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _is_unchanged(node):
                continue
            inside = node if isinstance(node, ast.stmt) else statement
            yield inside, _Place(owner, field, item), node
            yield from _places(node, inside)


def _is_unchanged(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    is_main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
    return is_main or isinstance(node, UNCHANGED_NODES)


def _told(statement: ast.AST) -> str:
    """Return a statement on one line; of one that holds others, its head."""
    lines = ast.unparse(statement).splitlines()
    return next((line for line in lines if not line.startswith("@")), "")


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    """Return a copy of a node with other fields."""
    copy = deepcopy(node)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


def _other_operator(node: ast.AST) -> Iterator[ast.AST]:
    other = OTHER_OPERATORS.get(type(node))
    if other is not None:
        yield other()


def _other_name(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Attribute) and node.attr in OTHER_NAMES:
        yield _with(node, attr=OTHER_NAMES[node.attr])


def _swapped_operands(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ORDERED_OPERATORS):
        yield _with(node, left=node.right, right=node.left)


def _other_constant(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value if value else 1.0)


def _dropped_call(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Attribute(value=given, attr=name)) if _keeps_shape(name):
            is_module = isinstance(given, ast.Name) and given.id in ("torch", "F", "self")
            if not is_module:
                yield given
            elif node.args:
                yield node.args[0]
        case ast.Call(func=ast.Name(id=name), args=[given, *_]) if _keeps_shape(name):
            yield given


def _keeps_shape(name: str) -> bool:
    return name in SHAPE_KEEPING_CALLS or name.rpartition("_")[2] in ("dropout", "norm")


def _swapped_arguments(node: ast.AST) -> Iterator[ast.AST]:
    """Swap two names beside one another, among the arguments of a call or in a tuple."""
    field = {ast.Call: "args", ast.Tuple: "elts"}.get(type(node))
    given = getattr(node, field) if field else []
    for place, (one, other) in enumerate(pairwise(given)):
        if type(one) is type(other) and isinstance(one, ast.Name | ast.Attribute):
            swapped = [*given[:place], other, one, *given[place + 2 :]]
            yield _with(node, **{str(field): swapped})


def _negated(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If() | ast.While() | ast.IfExp() if not _is_negated_elsewhere(node.test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return  # an axis from the end; the constant changes
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand


def _is_negated_elsewhere(test: ast.expr) -> bool:
    """Return whether a change inside a test negates it: of its operator, or of a ``not``."""
    kinds = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
    is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return is_negated or (isinstance(test, ast.Compare) and isinstance(test.ops[0], kinds))


def _removed(node: ast.AST) -> Iterator[ast.AST]:
    """Remove a statement after which all names are still there: what it does in place goes."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super"))))):
            return  # without it no module can be made
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Name(name)]) if name in _names_read(node.value):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript()]):
            yield ast.Pass()
        case ast.If(body=[ast.Raise()], orelse=[]):
            yield ast.Pass()


def _names_read(expression: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(expression) if isinstance(one, ast.Name)}


OPERATORS: tuple[Callable[[ast.AST], Iterator[ast.AST]], ...] = (
    *(_other_operator, _swapped_operands, _other_constant, _other_name, _dropped_call),
    *(_swapped_arguments, _negated, _removed),
)
