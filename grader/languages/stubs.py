"""A stub in another language: its docstrings, paragraph by paragraph; its code as it is."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from grader.languages import say

BETWEEN = re.compile(r"(\n\n|\n(?=- ))")  # paragraphs and the points of a list


def paragraphs_of(source: str) -> Iterator[str]:
    """What is said in the docstrings of a file, each paragraph without its indentation."""
    for text in _docstrings(source):
        yield from (part.strip() for part in BETWEEN.split(_cleaned(text)) if part.strip())


def said_in(source: str) -> str:
    """The file with its docstrings in the language in force."""
    for text in _docstrings(source):
        source = source.replace(text, _indented(text))
    return source


def by_paragraphs(text: str) -> str:
    """A docstring without its indentation in the language in force."""
    return "".join(say(part) for part in BETWEEN.split(text))


def _docstrings(source: str) -> Iterator[str]:
    """Each as it stands in the file, between its quotes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield str(first.value.value)


def _cleaned(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return first + newline + textwrap.dedent(rest)


def _indented(text: str) -> str:
    """A docstring with its paragraphs said, and its indentation as before."""
    rest = text.partition("\n")[2]
    lines = [line for line in rest.split("\n") if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    told = by_paragraphs(_cleaned(text).rstrip())
    head, newline, body = told.partition("\n")
    end = text[len(text.rstrip()) :]
    return head + newline + textwrap.indent(body, " " * margin) + end
