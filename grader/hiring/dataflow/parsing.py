"""Parse a submission as far as it can be parsed, and the stub for the names that it gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.submission.plain_tree import parse_plain

MAX_BROKEN_LINES = 20  # that are taken out until the rest parses
RUNS_TEXTS = {"exec", "eval", "compile"}
DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)\s", re.MULTILINE)
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
    """Return the syntax tree of a source without the lines that don't parse; it may be empty.

    The statements in its texts that ``exec`` may run are part of it.
    """
    lines = source.split("\n")
    for _ in range(MAX_BROKEN_LINES):
        try:
            return _with_texts_that_run(parse_plain("\n".join(lines)))
        except SyntaxError as error:
            place = min(error.lineno or len(lines), len(lines)) - 1
            if place < 0 or not lines[place].strip():
                break
            lines[place] = ""
        except (ValueError, RecursionError, MemoryError):
            break
    return ast.Module([], [])


def _with_texts_that_run(tree: ast.Module) -> ast.Module:
    """Return a module with the statements that it has in texts, where ``exec`` may run these."""
    nodes = [*ast.walk(tree)]
    if not any(isinstance(one, ast.Name) and one.id in RUNS_TEXTS for one in nodes):
        return tree
    texts = (one.value for one in nodes if isinstance(one, ast.Constant))
    run = [_as_text(text) for text in texts if isinstance(text, str | bytes)]
    found = [one for text in run if DEFINES.search(text) for one in _statements(text)]
    return ast.Module([*tree.body, *found], [])


def _as_text(text: str | bytes) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text


def _statements(text: str) -> list[ast.stmt]:
    """Return the statements of a text; none where it does not parse, as it cannot be run."""
    try:
        return _with_texts_that_run(parse_plain(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
