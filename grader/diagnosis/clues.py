"""Clues to an exception beyond its message, from the submission's source and tensors."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from grader.diagnosis.trees import (
    Function,
    attributes_of,
    classes_of,
    failing_function,
    failing_statement,
    functions_of,
    nodes_of_kind,
    own_nodes,
    tree_of,
)
from grader.records import Fault

MAX_EXPRESSION_CHARS = 60
MIN_WRITTEN_SIZE = 32  # smaller numbers stand in a file for many reasons
REDUCTIONS = {"sum", "mean", "amax", "amin", "max", "min", "norm", "std", "var", "logsumexp"}
NON_TENSOR_MEMBERS = {"size", "dim", "ndim", "shape", "numel", "dtype", "device"}
# Searches an exception and a source; returns the text for `{clue}`, or None if nothing was found.
Clue = Callable[[Fault, str], str | None]


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MAX_EXPRESSION_CHARS else f"{text[:MAX_EXPRESSION_CHARS]}…"


def _without_keepdim(fault: Fault, source: str) -> str | None:
    """Return a reduction that drops its axis, on the failing line or in a variable used there."""
    statement = failing_statement(fault, source)
    if statement is None:
        return None
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    made = [
        node.value
        for node in nodes_of_kind(source, ast.Assign)
        if any(isinstance(t, ast.Name) and t.id in names for t in node.targets)
        and _is_reduction(node.value)
    ]
    here = [node for node in ast.walk(statement) if _is_reduction(node)]
    return _shown([*here, *made][0]) if here or made else None


def _is_reduction(node: ast.AST) -> bool:
    """Return whether a node is a reduction over an axis that drops this axis."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    given = {keyword.arg for keyword in node.keywords}
    of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
    count = len(node.args) - of_torch
    over_an_axis = bool(given & {"dim", "axis"}) or count == 1
    return node.func.attr in REDUCTIONS and over_an_axis and "keepdim" not in given


def _written_size(fault: Fault, source: str) -> str | None:
    """Return the smaller of two sizes that do not match, if it stands in the file as a number."""
    sizes = [int(found) for found in re.findall(r"\((\d+)\)", fault.message)]
    if len(sizes) < 2 or min(sizes) < MIN_WRITTEN_SIZE:
        return None
    written = (node.value for node in nodes_of_kind(source, ast.Constant))
    return next((str(one) for one in written if isinstance(one, int) and one == min(sizes)), None)


def _variable_after_a_dot(fault: Fault, source: str) -> str | None:
    """Return the name before the dot, where the name after it is that of another tensor."""
    name = fault.message.rpartition("attribute ")[2].strip("'")
    line = fault.frames[-1].source if fault.frames else ""
    before = re.search(rf"(\w+)\.{re.escape(name)}\b", line)
    there = any(one.name == name for one in fault.tensors)
    return before[1] if before and there else None


def _misspelt_constructor(fault: Fault, source: str) -> str | None:
    for _, methods in classes_of(source):
        names = [method.name for method in methods]
        if "__init__" in names:
            continue
        for name in names:
            if re.fullmatch(r"_{0,3}(?:init|int|ini|inti|initt)_{0,3}", name):
                return name
    return None


def _never_returns(fault: Fault, source: str) -> str | None:
    """Return a function that the failing one calls, if it computes but never returns a value."""
    failing = failing_function(fault, source)
    called = {"forward"}
    for node in ast.walk(failing) if failing else ():
        match node:
            case ast.Call(ast.Name(id=name)) | ast.Call(ast.Attribute(attr=name)):
                called.add(name)
    for function in functions_of(source):
        kinds = {type(node) for node in own_nodes(function)}
        gives = kinds & {ast.Return, ast.Yield, ast.Raise}
        if not gives and function is not failing and function.name in called:
            return function.name
    return None


def _kept_from_a_call(fault: Fault, source: str) -> str | None:
    """Return an attribute read on the failing line that a method sets after construction."""
    kept: set[str] = set()
    for _, methods in classes_of(source):
        first = [method for method in methods if method.name == "__init__"]
        built = {node.attr for one in first for node in attributes_of(one, ast.Load)}
        for method in methods:
            if method not in first and method.name not in built:
                kept |= {node.attr for node in attributes_of(method, ast.Store)} - _numbers(method)
    statement = failing_statement(fault, source)
    read = attributes_of(statement, ast.Load) if statement else ()
    return next((node.attr for node in read if node.attr in kept), None)


def _numbers(method: Function) -> set[str]:
    """Return the attributes that a method sets to sizes and the like, which are not tensors."""
    return {
        node.attr
        for one in ast.walk(method)
        if isinstance(one, ast.Assign) and _is_number(one.value)
        for target in one.targets
        for node in attributes_of(target, ast.Store)
    }


def _is_number(value: ast.expr) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Subscript(value=inner) | ast.BinOp(left=inner):
            return _is_number(inner)
        case ast.Call(func=ast.Name(id=name)):
            return name in ("len", "int", "float")
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Attribute(attr=name):
            return name in NON_TENSOR_MEMBERS
    return False


def _set_only_later(fault: Fault, source: str) -> str | None:
    """Return the unset variable, if its function sets it on the failing line at the earliest."""
    name = next(iter(re.findall(r"local variable '(\w+)'", fault.message)), "")
    function = failing_function(fault, source)
    line = fault.frames[-1].line if fault.frames else 0
    stored = [
        node.lineno
        for node in (own_nodes(function) if function else ())
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return name if stored and min(stored) >= line else None


def _attribute_of_this_name(fault: Fault, source: str) -> str | None:
    """Return the undefined name, if a method fails on it and it is set as an attribute."""
    name = next(iter(re.findall(r"name '(\w+)' is not defined", fault.message)), "")
    function = failing_function(fault, source)
    if function is None or not function.args.args or function.args.args[0].arg != "self":
        return None
    stored = (n.attr for n in nodes_of_kind(source, ast.Attribute) if isinstance(n.ctx, ast.Store))
    return name if name in stored else None


def _variable_of_another_function(fault: Fault, source: str) -> str | None:
    """Return the first function that has the undefined name as a variable."""
    name = next(iter(re.findall(r"name '(\w+)' is not defined", fault.message)), "")
    return next((f.name for f in functions_of(source) if name in _variables(f)), None)


def _variables(function: Function) -> set[str]:
    """Return the arguments of a function and the variables that it sets."""
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return arguments | _names(own_nodes(function), ast.Store)


def hidden_from(source: str, line: int) -> set[str]:
    """Return the names that a line cannot see: variables only of functions without that line."""
    around: set[str] = set()
    others: set[str] = set()
    for function in functions_of(source):
        inside = function.lineno <= line <= (function.end_lineno or 0)
        (around if inside else others).update(_variables(function))
    body = tree_of(source).body
    top = [one for one in body if not isinstance(one, Function | ast.ClassDef)]
    return others - around - _names(_within(top), ast.Store)


def _own_condition(fault: Fault, source: str) -> str | None:
    """Return the condition of the `if` or `assert` by which the file raises this itself."""
    failing = failing_statement(fault, source)
    if isinstance(failing, ast.Assert):
        return f"not ({_shown(failing.test)})"
    conditions = (node.test for node in nodes_of_kind(source, ast.If) if failing in node.body)
    found = next(conditions, None) if isinstance(failing, ast.Raise) else None
    return _shown(found) if found is not None else None


def _none_where_it_runs(fault: Fault, source: str) -> str | None:
    """Return a variable read by the failing line, which runs only where this variable is None."""
    failing = failing_statement(fault, source)
    for node in nodes_of_kind(source, ast.If):
        match node.test:
            case ast.Compare(ast.Name(id=name), [ast.Is()], [ast.Constant(None)]):
                branch = node.body
            case ast.Compare(ast.Name(id=name), [ast.IsNot()], [ast.Constant(None)]):
                branch = node.orelse
            case _:
                continue
        if failing in branch:
            before = branch[: branch.index(failing)]
            if name in _names(ast.walk(failing), ast.Load) - _names(_within(before), ast.Store):
                return name
    return None


def _names(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> set[str]:
    """Return the names that nodes read, or those that they set."""
    names = (node for node in nodes if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, context)}


def _within(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    return itertools.chain.from_iterable(map(ast.walk, statements))


def _maximum_of_all(fault: Fault, source: str) -> str | None:
    """Return the maximum over all axes at once that the failing function subtracts, if any."""
    function = failing_function(fault, source)
    for node in own_nodes(function) if function else ():
        match node:
            case ast.BinOp(op=ast.Sub(), right=ast.Call(ast.Attribute(attr=name), [], [])):
                if name in ("max", "amax"):
                    return _shown(node.right)
    return None


def _weights_filled_with_infinity(fault: Fault, source: str) -> str | None:
    """Return a variable that is filled with infinity after a softmax gave it its value."""
    function = failing_function(fault, source)
    nodes = own_nodes(function) if function else ()
    set_here = [node for node in nodes if isinstance(node, ast.Assign)]
    shares: set[str] = set()  # the variables that hold what a softmax gave
    for node in sorted(set_here, key=lambda node: node.lineno):
        name, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
        filled = re.match(r"(\w+)\.masked_fill\(.*\Winf\b", value)
        if filled and filled[1] in shares:
            return filled[1]
        shares = shares | {name} if re.search(r"softmax\([^()]*\)$", value) else shares - {name}
    return None


def _argument_that_fits(fault: Fault, source: str) -> str | None:
    """Return the argument of the failing function that has as many features as the layer takes."""
    function, statement = failing_function(fault, source), failing_statement(fault, source)
    sizes = re.search(r"\(\d+x(\d+) and (\d+)x\d+\)", fault.message)
    if function is None or statement is None or sizes is None:
        return None
    widths = {one.name: one.shape[-1] for one in fault.tensors if one.shape}
    used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    named = [one.arg for one in function.args.args if one.arg in widths]
    given = [name for name in named if name in used and widths[name] == int(sizes[1])]
    fitting = [name for name in named if name not in used and widths[name] == int(sizes[2])]
    return fitting[0] if given and len(fitting) == 1 else None


CLUES: dict[str, Clue] = {
    "without keepdim": _without_keepdim,
    "written size": _written_size,
    "variable after a dot": _variable_after_a_dot,
    "misspelt constructor": _misspelt_constructor,
    "never returns": _never_returns,
    "kept from a call": _kept_from_a_call,
    "set only later": _set_only_later,
    "attribute of this name": _attribute_of_this_name,
    "variable of another function": _variable_of_another_function,
    "own condition": _own_condition,
    "none where it runs": _none_where_it_runs,
    "maximum of all": _maximum_of_all,
    "weights filled with infinity": _weights_filled_with_infinity,
    "argument that fits": _argument_that_fits,
}
