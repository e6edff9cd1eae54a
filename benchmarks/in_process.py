"""A pytest plugin that gives a suite its submission in the process of the tests themselves.

What ``cold.py`` compares with: the same checks as most graders run them, one `import` away.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from grader.sandbox.answers import Answer
from grader.sandbox.inside.worker import Worker
from grader.sandbox.requests import Request
from grader.suite.draw import Draw
from grader.suite.subject import Subject
from grader.suite.trial import Trial


class LocalSubmission:
    """A submission's file, imported here; what checks plan is done at once, and nothing copied."""

    def __init__(self, path: Path) -> None:
        self._worker = Worker()
        self._worker.do_load(path.read_text(encoding="utf-8"), str(path), [])
        self._numbers = itertools.count(1)
        self.worker = None

    def create(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Construct one of its modules."""
        return _with_each(getattr(self._worker.module, name)(*args, **kwargs))

    def function(self, name: str) -> Any:
        """One of its functions."""
        return _with_each(getattr(self._worker.module, name))

    def number(self) -> int:
        """A number for an object."""
        return next(self._numbers)

    def several(self, requests: Sequence[Request]) -> list[Answer]:
        """Do what was planned."""
        return [self._do(tensors, **header) for header, tensors in requests]

    def _do(self, tensors: Sequence[Tensor], do: str, **header: Any) -> Answer:
        self._worker.sent = []
        told = getattr(self._worker, f"do_{do}")(tensors=list(tensors), **header)
        return told, self._worker.sent

    def believe(self, build: Callable[[], Any]) -> Any:
        """Take an answer as it is."""
        return build()

    def forget(self, number: int, _: object) -> None:
        """Let an object go."""
        self._worker.objects.pop(number, None)
        self._worker.graphs.pop(number, None)


def _with_each(target: Any) -> Any:
    target.each = lambda calls: [target(*arguments) for arguments in calls]
    return target


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Trial:
    """A try at the suite's subject, with the file that ``SUBMISSION`` names."""
    subject: Subject = request.module.subject
    submission = LocalSubmission(Path(os.environ["SUBMISSION"]))
    seen: dict[Any, Any] = {}
    return Trial(subject, submission, Draw(1), "cpu", seen)  # type: ignore[arg-type]  # looks like one
