"""Restructured copies: split and joined expressions, helpers out of the way or new, other loops."""

from __future__ import annotations

import ast
import copy
import random
from collections import Counter
from collections.abc import Iterator

Function = ast.FunctionDef
SPLIT_SHARE = 0.4  # of the expressions within others that get a statement of their own
JOIN_SHARE = 0.6  # of the variables that are used at once, in the next statement alone
LOOP_SHARE = 0.7  # of the comprehensions and loops that can be written as the other
MAX_EXTRACTED = 4  # statements of a new helper
NEW_NAMES = (
    ("step", "stage", "partial", "current", "temp", "made", "inner", "block", "piece", "first"),
    ("value", "tensor", "result", "part", "data", "item", "half", "rows", "side", "state"),
)
# What lies in these may be computed never, or more than once.
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LEFT_ALONE = (*COMPREHENSIONS, ast.Lambda, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.JoinedStr)


def restructure(tree: ast.Module, rng: random.Random) -> None:
    """Write the same steps in other pieces; what comes out and all names of a contract stay."""
    names = _fresh_names(tree, rng)
    _inline_helpers(tree)
    for function in _functions(tree):
        for body in _blocks(function):
            _change_loops(body, function, rng)
            _join(body, function, rng)
            _split(body, rng, names)
            _change_loops(body, function, rng)
    _extract_helpers(tree, rng, names)
    ast.fix_missing_locations(tree)


def _fresh_names(tree: ast.Module, rng: random.Random) -> Iterator[str]:
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    while True:
        name = "_".join(map(rng.choice, NEW_NAMES))
        if name not in taken:
            taken.add(name)
            yield name


def _functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def _blocks(function: Function) -> list[list[ast.stmt]]:
    found = [function.body]
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.For | ast.While | ast.With):
            found += [node.body, getattr(node, "orelse", [])]
    return [block for block in found if block]


def _loads(node: ast.AST) -> Counter[str]:
    return _names(node, ast.Load)


def _stores(node: ast.AST) -> Counter[str]:
    return _names(node, ast.Store)


def _names(node: ast.AST, context: type[ast.expr_context]) -> Counter[str]:
    return Counter(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)
    )


def _own_target(statement: ast.stmt) -> str:
    """The one variable that a plain assignment sets; empty for any other statement."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        return target.id if isinstance(target, ast.Name) else ""
    return ""


class _Replace(ast.NodeTransformer):
    """Puts expressions in the place of variables, or of other expressions."""

    def __init__(self, by_name: dict[str, ast.expr]) -> None:
        self._by_name = by_name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._by_name:
            return copy.deepcopy(self._by_name[node.id])
        return node


def _join(body: list[ast.stmt], function: Function, rng: random.Random) -> None:
    """Write a variable's value where it is used, where that is the next statement alone."""
    place = 0
    while place + 1 < len(body):
        name, after = _own_target(body[place]), body[place + 1]
        once = name and _loads(function)[name] == 1 == _stores(function)[name]
        plain = isinstance(after, ast.Assign | ast.Return | ast.AugAssign)
        shaped = not any(isinstance(node, LEFT_ALONE) for node in ast.walk(after))
        if once and plain and shaped and _loads(after)[name] and rng.random() < JOIN_SHARE:
            body[place : place + 2] = [_Replace({name: body[place].value}).visit(after)]
        else:
            place += 1


def _split(body: list[ast.stmt], rng: random.Random, names: Iterator[str]) -> None:
    """Give some expressions within others a statement and a variable of their own."""
    done: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None:
            for parent, field, at in list(_inner(statement.value)):
                if rng.random() < SPLIT_SHARE:
                    held = getattr(parent, field)
                    inner, name = held if at is None else held[at], next(names)
                    done.append(ast.Assign([ast.Name(name, ast.Store())], inner, lineno=0))
                    new = ast.Name(name, ast.Load())
                    if at is None:
                        setattr(parent, field, new)
                    else:
                        held[at] = new
        done.append(statement)
    body[:] = done


def _inner(node: ast.expr) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Where the expressions within one stand, the innermost first."""
    if isinstance(node, LEFT_ALONE):
        return
    for field, held in ast.iter_fields(node):
        for at, inner in enumerate(held) if isinstance(held, list) else [(None, held)]:
            if isinstance(inner, ast.keyword):
                yield from _inner(inner)
            elif isinstance(inner, ast.expr):
                yield from _inner(inner)
                wide = isinstance(inner, ast.Call | ast.BinOp | ast.Compare | ast.ListComp)
                if wide and "super" not in ast.unparse(inner):
                    yield node, field, at


def _change_loops(body: list[ast.stmt], function: Function, rng: random.Random) -> None:
    """Write comprehensions as loops, and loops that only append as comprehensions."""
    place = 0
    while place < len(body):
        statement = body[place]
        name = _own_target(statement)
        new = None
        if name and rng.random() < LOOP_SHARE:
            new = _as_loop(name, statement) or _as_comprehension(name, body[place : place + 2])
        if new:
            body[place : place + (1 if len(new) == 2 else 2)] = new
            place += len(new)
        else:
            place += 1


def _as_loop(name: str, statement: ast.Assign) -> list[ast.stmt]:
    value = statement.value
    if not isinstance(value, ast.ListComp) or len(value.generators) > 1 or value.generators[0].ifs:
        return []
    (each,) = value.generators
    append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
    call = ast.Expr(ast.Call(append, [value.elt], []))
    empty = ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load()), lineno=0)
    return [empty, ast.For(each.target, each.iter, [call], [], lineno=0)]


def _as_comprehension(name: str, two: list[ast.stmt]) -> list[ast.stmt]:
    match two:
        case [
            ast.Assign(value=ast.List(elts=[])),
            ast.For(
                target=target,
                iter=source,
                body=[
                    ast.Expr(
                        ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="append"), args=[x])
                    )
                ],
                orelse=[],
            ),
        ] if of == name:
            made = ast.ListComp(x, [ast.comprehension(target, source, [], 0)])
            return [ast.Assign([ast.Name(name, ast.Store())], made, lineno=0)]
    return []


def _inline_helpers(tree: ast.Module) -> None:
    """Write what a helper returns where it is called, if that is all that it does."""
    for holder in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]:
        for helper in [one for one in holder.body if isinstance(one, Function)]:
            if len(helper.body) == 1 and isinstance(helper.body[0], ast.Return):
                _inline(tree, holder, helper)


def _inline(tree: ast.Module, holder: ast.Module | ast.ClassDef, helper: Function) -> None:
    of_class = isinstance(holder, ast.ClassDef)
    params = [one.arg for one in helper.args.args][of_class:]
    value = helper.body[0].value
    if not value or any(isinstance(node, LEFT_ALONE) for node in ast.walk(value)):
        return
    named = [n for n in ast.walk(tree) if n is not helper and _mention(n) == helper.name]
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.func in named]
    plain = all(
        len(call.args) == len(params)
        and not call.keywords
        and not any(isinstance(node, ast.Starred) for node in call.args)
        for call in calls
    )
    often = max((_loads(value)[name] for name in params), default=0) > 1
    if not calls or len(calls) != len(named) or not plain or often or helper.decorator_list:
        return
    for parent in ast.walk(tree):
        for field, held in ast.iter_fields(parent):
            for at, node in enumerate(held) if isinstance(held, list) else [(None, held)]:
                if node in calls:
                    bound = dict(zip(params, node.args, strict=True))
                    new = _Replace(bound).visit(copy.deepcopy(value))
                    if at is None:
                        setattr(parent, field, new)
                    else:
                        held[at] = new
    holder.body.remove(helper)
    if not holder.body:
        holder.body.append(ast.Pass())


def _mention(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _extract_helpers(tree: ast.Module, rng: random.Random, names: Iterator[str]) -> None:
    """Move some statements of each longer function to a helper."""
    for holder in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef))]:
        for function in [one for one in holder.body if isinstance(one, Function)]:
            if function.name != "__init__" and len(function.body) > 3:
                _extract(tree, holder, function, rng, f"_{next(names)}")


def _extract(
    tree: ast.Module,
    holder: ast.Module | ast.ClassDef,
    function: Function,
    rng: random.Random,
    name: str,
) -> None:
    runs = list(_runs(function.body))
    if not runs:
        return
    first, last = rng.choice(runs)
    moved = function.body[first:last]
    there = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    for one in function.body[:first]:
        there |= {one.name} if isinstance(one, Function) else _stores(one).keys()
    made = {name for one in moved for name in _stores(one)}
    needs = sorted({n for one in moved for n in _loads(one)} & there)
    gives = sorted(made & {n for one in function.body[last:] for n in _loads(one)})
    if not gives:
        return
    is_method = isinstance(holder, ast.ClassDef) and "self" in needs
    given = [n for n in needs if n != "self" or not is_method]
    arguments = [ast.arg(n) for n in (["self"] if is_method else []) + given]
    back = [ast.Name(n, ast.Load()) for n in gives]
    result = ast.Return(ast.Tuple(back, ast.Load()) if len(back) > 1 else back[0])
    helper = Function(
        name,
        ast.arguments([], arguments, None, [], [], None, []),
        [*moved, result],
        [],
        lineno=0,
        **({"type_params": []} if "type_params" in Function._fields else {}),
    )
    called = ast.Name(name, ast.Load())
    if is_method:
        called = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
    targets = [ast.Name(n, ast.Store()) for n in gives]
    target = ast.Tuple(targets, ast.Store()) if len(targets) > 1 else targets[0]
    call = ast.Call(called, [ast.Name(n, ast.Load()) for n in given], [])
    function.body[first:last] = [ast.Assign([target], call, lineno=0)]
    where = holder if is_method else tree
    at = where.body.index(function if is_method else holder if holder in tree.body else function)
    where.body.insert(at + is_method, helper)


def _runs(body: list[ast.stmt]) -> Iterator[tuple[int, int]]:
    """First and last place of two to four assignments in a row, to variables alone."""
    plain = [
        isinstance(one, ast.Assign)
        and all(isinstance(t, ast.Name | ast.Tuple) for t in one.targets)
        and not any(isinstance(n, ast.Attribute) for t in one.targets for n in ast.walk(t))
        for one in body
    ]
    for first in range(len(body)):
        for last in range(first + 2, min(first + MAX_EXTRACTED, len(body)) + 1):
            if all(plain[first:last]):
                yield first, last
