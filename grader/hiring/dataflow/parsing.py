"""Parse a submission as far as it can be parsed, and the stub for the names that it gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.submission.source import parse_text, without_async

MAX_BROKEN_LINES = 20  # that are taken out until the rest parses
WORDS = re.compile(r"\w+")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Block = ast.stmt | ast.ExceptHandler | ast.match_case  # what statements may stand in


@dataclass(frozen=True)
class Contract:
    """What a stub gives to all.

    Attributes:
        words: Every word of it, prose included: no author's own name is among them.
        defined: The functions, methods and classes that it defines.
        arguments: The names of what each of its functions takes, in order, without ``self``.
    """

    words: frozenset[str]
    defined: frozenset[str]
    arguments: Mapping[str, Sequence[str]]


def contract_of(stub: str) -> Contract:
    """Return what a stub gives to all."""
    nodes = [one for one in ast.walk(parse_most(stub)) if isinstance(one, Definition)]
    arguments = {
        node.name: [one.arg for one in node.args.args if one.arg != "self"]
        for node in nodes
        if not isinstance(node, ast.ClassDef)
    }
    defined = frozenset(node.name for node in nodes)
    return Contract(frozenset(WORDS.findall(stub)), defined, arguments)


def statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a module or a class: branches and loops also, no definitions."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt):
            yield one
        if isinstance(one, Block) and not isinstance(one, Definition):
            yield from statements_in(one)


def parse_most(source: str) -> ast.Module:
    """Return the syntax tree of a source without the lines that don't parse; it may be empty."""
    lines = source.split("\n")
    for _ in range(MAX_BROKEN_LINES):
        try:
            return without_async(parse_text("\n".join(lines)))
        except SyntaxError as error:
            place = min(error.lineno or len(lines), len(lines)) - 1
            if place < 0 or not lines[place].strip():
                break
            lines[place] = ""
        except (ValueError, RecursionError, MemoryError):
            break
    return ast.Module([], [])
