"""Copies made to look like work of one's own, to prove the comparison of submissions."""

from __future__ import annotations

import ast
import builtins
import itertools
import random
import re
from collections.abc import Callable

from tests.support.restructure import restructure

WORDS = ("alpha", "beta", "gamma", "delta", "item", "thing", "value", "part", "piece", "inner")
CALLED_BY_TORCH = {"forward", "backward"}
DEFINING = ast.FunctionDef | ast.ClassDef | ast.arg
DEAD_CODE = (
    "unused_{n} = {n}",
    "if False:\n    limit_{n} = {n}",
    "debug_{n} = None",
    "_ = {n} + {n}",
)
IDIOMS = (
    (".transpose(-2, -1)", ".mT"),
    (".transpose(1, 2)", ".transpose(-1, -2)"),
    (".softmax(dim=-1)", ".softmax(-1)"),
    ("float('-inf')", "-torch.inf"),
    (".shape[-1]", ".size(-1)"),
)


def disguise(source: str, stub: str, seed: int, *ways: str) -> str:
    """A copy in other clothes; layout, quotes, comments and docstrings always change.

    Args:
        source: What is copied.
        stub: The contract: no name in it can be changed.
        seed: Draws everything.
        ways: Of ``WAYS``, what else is changed.
    """
    rng = random.Random(seed)
    tree = ast.parse(source)
    for node in ast.walk(tree):
        _drop_docstring(node)
    for way in ways:
        WAYS[way](tree, rng, set(re.findall(r"\w+", stub)))
    return _with_comments(ast.unparse(tree), rng)


def in_stub(stub: str, *bodies: str) -> str:
    """The stub with what stands in place of each ``raise NotImplementedError``."""
    pieces = re.split(r" +raise NotImplementedError\n", stub)
    filled = [body.strip("\n") + "\n" for body in bodies]
    return "".join(itertools.chain(*itertools.zip_longest(pieces, filled, fillvalue="")))


def _drop_docstring(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
        node.body = node.body[1:] or [ast.Pass()]


def _with_comments(code: str, rng: random.Random) -> str:
    lines = code.split("\n")
    for _ in range(3):
        place = rng.randrange(len(lines))
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines.insert(place, f"{indent}# {' '.join(rng.sample(WORDS, 4))}")
    return "\n".join(lines) + "\n"


def _rename(tree: ast.Module, rng: random.Random, given: set[str]) -> None:
    """Give every name that the contract leaves free another one."""
    fixed = given | set(dir(builtins))
    fresh = [f"{a}_{b}" for a, b in itertools.permutations(WORDS, 2)]
    rng.shuffle(fresh)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        bound = isinstance(getattr(node, "ctx", None), ast.Store) or isinstance(node, DEFINING)
        name = _name(node) if bound else ""
        if name and name not in fixed and name not in names:
            names[name] = fresh.pop()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, DEFINING):
            node.name = names.get(node.name, node.name)
        elif isinstance(node, ast.Attribute) and _name(node):
            node.attr = names.get(node.attr, node.attr)
        elif isinstance(node, ast.Call) and "register_buffer" in ast.unparse(node.func):
            name = ast.literal_eval(node.args[0])
            node.args[0] = ast.Constant(names.get(name, name))


def _name(node: ast.AST) -> str:
    """The name of a variable, an argument, an attribute of ``self``, a function or a class."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, DEFINING):
        return "" if node.name.startswith("__") or node.name in CALLED_BY_TORCH else node.name
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node.attr if own and node.value.id == "self" else ""


def _reorder(tree: ast.Module, rng: random.Random, given: set[str]) -> None:
    """Swap neighbours of which neither needs the other, and shuffle methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            places = [at for at, one in enumerate(node.body) if isinstance(one, ast.FunctionDef)]
            methods = [node.body[at] for at in rng.sample(places, len(places))]
            for at, method in zip(places, methods, strict=True):
                node.body[at] = method
    for body in _bodies(tree):
        for _ in range(3 * len(body)):
            place = rng.randrange(len(body))
            if place and _independent(body[place - 1], body[place]):
                body[place - 1], body[place] = body[place], body[place - 1]


def _independent(one: ast.stmt, other: ast.stmt) -> bool:
    for statement in (one, other):
        if not isinstance(statement, ast.Assign) or _sets_items(statement):
            return False
    touched = [{ast.unparse(t) for t in ast.walk(s) if _is_place(t)} for s in (one, other)]
    written = [{ast.unparse(t) for t in ast.walk(s) if _is_place(t, True)} for s in (one, other)]
    return not (touched[0] & written[1] or touched[1] & written[0])


def _sets_items(statement: ast.Assign) -> bool:
    return any(isinstance(n, ast.Subscript) for t in statement.targets for n in ast.walk(t))


def _is_place(node: ast.AST, written: bool = False) -> bool:
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    return not written or isinstance(node.ctx, ast.Store)


def _pad(tree: ast.Module, rng: random.Random, given: set[str]) -> None:
    """Insert code that does nothing."""
    for body in _bodies(tree):
        for _ in range(rng.randrange(1, 3)):
            dead = ast.parse(rng.choice(DEAD_CODE).format(n=rng.randrange(100))).body
            body.insert(rng.randrange(1, len(body) + 1) if len(body) > 1 else 0, dead[0])


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    return [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _restyle(tree: ast.Module, rng: random.Random, given: set[str]) -> None:
    """Write two idioms in another way."""
    code = ast.unparse(tree)
    found = [idiom for idiom in IDIOMS if idiom[0] in code]
    for old, new in rng.sample(found, min(2, len(found))):
        code = code.replace(old, new)
    tree.body = ast.parse(code).body


def _restructure(tree: ast.Module, rng: random.Random, given: set[str]) -> None:
    """Write the same steps in other pieces."""
    restructure(tree, rng)


WAYS: dict[str, Callable[[ast.Module, random.Random, set[str]], None]] = {
    "structure": _restructure,
    "names": _rename,
    "order": _reorder,
    "dead code": _pad,
    "idioms": _restyle,
}
