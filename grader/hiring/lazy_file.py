"""A file that was handed in, parsed on demand, and whether it still is as it was sent."""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path, PurePosixPath

from grader.errors import GradeError
from grader.hiring.downloads import own_name
from grader.hiring.files import Reader
from grader.submission import SourceProblem, Submission, parse, submission_of


class LazyFile:
    """A file that is read and parsed on demand, at most once."""

    def __init__(self, path: PurePosixPath, read: Reader) -> None:
        self.path = path
        self.read = read
        self.stem = PurePosixPath(own_name(path.name)).stem

    @cached_property
    def source(self) -> str | None:
        """The file's text; None where it cannot be read."""
        return self._submission.source if self._submission else None

    @cached_property
    def defined(self) -> dict[str, ast.AST]:
        """The classes and functions that the file defines; none where it does not parse."""
        return _definitions(self._submission) if self._submission else {}

    @cached_property
    def _submission(self) -> Submission | None:
        try:
            return submission_of(Path(self.path.name), self.read())
        except GradeError:
            return None

    def is_as_sent(self, stub: str) -> bool:
        """Return whether classes and functions are the stub's, but for comments and docstrings.

        Other code, as in further cells of a notebook, does not count.
        """
        if not stub or self.source == stub:
            return bool(stub)
        sent = _definitions(Submission(Path("stub.py"), stub))
        return self.defined.keys() == sent.keys() and all(
            _is_same_code(self.defined[name], sent[name]) for name in sent
        )


def _definitions(submission: Submission) -> dict[str, ast.AST]:
    """Return the classes and functions of a file, by name; none where it does not parse."""
    try:
        tree = parse(submission)
    except SourceProblem:
        return {}
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name: node for node in tree.body if isinstance(node, kinds)}


def _is_same_code(one: ast.AST, other: ast.AST) -> bool:
    """Return whether two pieces of code are the same but for comments and docstrings."""
    try:
        return ast.dump(_without_docstrings(one)) == ast.dump(_without_docstrings(other))
    except (RecursionError, ValueError):  # ValueError: a number too long to be written
        return False


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return tree
