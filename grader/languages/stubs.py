"""Translate a stub's docstrings and rules, paragraph by paragraph; its code stays as it is."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from grader.languages import say

PARAGRAPH_BREAK = re.compile(r"(\n\n|\n(?=- ))")  # also before each point of a list
RULES_COMMENT = re.compile(r"(?:^#.*\n)+\Z", re.MULTILINE)  # at the end of a stub


def paragraphs_of(source: str) -> Iterator[str]:
    """Yield the paragraphs of a file's docstrings and rules, each without its indentation."""
    for text in (*map(_cleaned, _docstrings(source)), rules_of(source)):
        yield from (part.strip() for part in PARAGRAPH_BREAK.split(text) if part.strip())


def rules_of(source: str) -> str:
    """Return the rules for all exercises from the comment at a stub's end; empty without one."""
    found = RULES_COMMENT.search(source)
    return re.sub(r"^# ?", "", found[0], flags=re.MULTILINE) if found else ""


def translate_source(source: str) -> str:
    """Return a file's source with its docstrings and rules in the language in force."""
    for text in _docstrings(source):
        source = source.replace(text, _indented(text))
    rules = translate_paragraphs(rules_of(source).rstrip())
    commented = "".join(f"# {line}".rstrip() + "\n" for line in rules.splitlines())
    return RULES_COMMENT.sub(lambda _: commented, source)


def translate_paragraphs(text: str) -> str:
    """Translate a dedented docstring, or rules, into the language in force."""
    return "".join(say(part) for part in PARAGRAPH_BREAK.split(text))


def _docstrings(source: str) -> Iterator[str]:
    """Yield each docstring as it stands in the source, between its quotes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield str(first.value.value)


def _cleaned(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return first + newline + textwrap.dedent(rest)


def _indented(text: str) -> str:
    """Translate a docstring by paragraphs, and indent it as before."""
    rest = text.partition("\n")[2]
    lines = [line for line in rest.split("\n") if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    told = translate_paragraphs(_cleaned(text).rstrip())
    head, newline, body = told.partition("\n")
    end = text[len(text.rstrip()) :]
    return head + newline + textwrap.indent(body, " " * margin) + end
