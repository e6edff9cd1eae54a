"""Parse a submission as far as it can be parsed, and the stub for the names that it gives."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from grader.submission.source import has_too_many_fields

MAX_BROKEN_LINES = 20  # that are taken out until the rest parses
WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class Contract:
    """What a stub gives to all.

    Attributes:
        words: Every word of it, prose included: no author's own name is among them.
        defined: The functions, methods and classes that it defines.
    """

    words: frozenset[str]
    defined: frozenset[str]


def contract_of(stub: str) -> Contract:
    """Return what a stub gives to all."""
    nodes = ast.walk(parse_most(stub))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    defined = frozenset(node.name for node in nodes if isinstance(node, kinds))
    return Contract(frozenset(WORDS.findall(stub)), defined)


def parse_most(source: str) -> ast.Module:
    """Return the syntax tree of a source without the lines that don't parse; it may be empty."""
    lines = source.split("\n")
    for _ in range(MAX_BROKEN_LINES):
        try:
            text = "\n".join(lines)
            if has_too_many_fields(text):
                break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except SyntaxError as error:
            place = min(error.lineno or len(lines), len(lines)) - 1
            if place < 0 or not lines[place].strip():
                break
            lines[place] = ""
        except (ValueError, RecursionError, MemoryError):
            break
    return ast.Module([], [])
