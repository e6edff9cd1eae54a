"""A stub in another language: docstrings and rules, paragraph by paragraph; its code as it is."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from grader.languages import say

BETWEEN = re.compile(r"(\n\n|\n(?=- ))")  # paragraphs and the points of a list
RULES = re.compile(r"(?:^#.*\n)+\Z", re.MULTILINE)


def paragraphs_of(source: str) -> Iterator[str]:
    """What is said in docstrings and rules of a file, each paragraph without its indentation."""
    for text in (*map(_cleaned, _docstrings(source)), rules_of(source)):
        yield from (part.strip() for part in BETWEEN.split(text) if part.strip())


def rules_of(source: str) -> str:
    """What a comment at the end of a stub says of all exercises; empty where there is none."""
    found = RULES.search(source)
    return re.sub(r"^# ?", "", found[0], flags=re.MULTILINE) if found else ""


def said_in(source: str) -> str:
    """The file with its docstrings and rules in the language in force."""
    for text in _docstrings(source):
        source = source.replace(text, _indented(text))
    rules = by_paragraphs(rules_of(source).rstrip())
    commented = "".join(f"# {line}".rstrip() + "\n" for line in rules.splitlines())
    return RULES.sub(lambda _: commented, source)


def by_paragraphs(text: str) -> str:
    """A docstring without its indentation, or rules, in the language in force."""
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
