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

from grader.sandbox.batch import RequestBatch
from grader.sandbox.channel import Outgoing
from grader.sandbox.replies import Answered
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.wire.messages import Load
from grader.worker.handler import RequestHandler


class LocalChannel:
    """A submission's file, imported here; what checks plan is done at once, and nothing copied."""

    def __init__(self, path: Path) -> None:
        self._handler = RequestHandler()
        self._handler.do_load(Load(path.read_text(encoding="utf-8"), str(path)), [])
        self._handles = itertools.count(1)

    def new_handle(self) -> int:
        """A handle for an object."""
        return next(self._handles)

    def exchange(self, steps: Sequence[Outgoing]) -> list[Answered]:
        """Do what was planned."""
        return [self._do(step) for step in steps]

    def _do(self, step: Outgoing) -> Answered:
        self._handler.sent = []
        do = getattr(self._handler, "do_" + type(step.operation).__name__.lower())
        answer = do(step.operation, list(step.tensors))
        return Answered(answer, self._handler.sent)

    def validated(self, read: Callable[[], Any]) -> Any:
        """Take an answer as it is."""
        return read()

    def release(self, handle: int) -> None:
        """Let an object go."""
        self._handler.objects.pop(handle, None)
        self._handler.graphs.pop(handle, None)


class LocalSession:
    """A session whose worker is this process."""

    def __init__(self, path: Path) -> None:
        self._channel: Any = LocalChannel(path)

    def batch(self) -> RequestBatch:
        """A batch of requests to it."""
        return RequestBatch(self._channel)


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Harness:
    """A try at the suite's contract, with the file that ``SUBMISSION`` names."""
    session: Any = LocalSession(Path(os.environ["SUBMISSION"]))
    return Harness(request.module.contract, session, Draw(1), "cpu", {})
