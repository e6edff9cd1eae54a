"""Run a submission in the process of pytest itself: a plugin that gives it to a suite.

``cold.py`` compares with this: the same checks as most graders run them, one `import` away.
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.records import Fault
from grader.sandbox.channel import Exchange, OutgoingStep
from grader.sandbox.errors import SubmissionError
from grader.sandbox.null import NullSession
from grader.sandbox.replies import StepAnswer
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.wire import messages, packing
from grader.wire.kernels import choose_kernels
from grader.worker.handler import RequestHandler


class LocalChannel:
    """A channel to a source that runs in this process, where planned steps are done at once."""

    device = "cpu"

    def __init__(self, source: str, name: str) -> None:
        self._handler = RequestHandler()
        self._handler.do_load(messages.Load(source, name), [])
        self._handles = itertools.count(1)
        self.exchanges: list[Exchange] = []

    def new_handle(self) -> int:
        """Return a new handle for an object."""
        return next(self._handles)

    def exchange(
        self,
        steps: Sequence[OutgoingStep],
        groups: Sequence[int] = (),
        meanwhile: Callable[[], object] | None = None,
    ) -> list[StepAnswer | Exception]:
        """Carry out planned steps, group by group, and return their answers."""
        left = iter(steps)
        together = list(groups or [len(steps)])
        answers = [one for count in together for one in self._group(itertools.islice(left, count))]
        if meanwhile is not None:
            meanwhile()
        self.exchanges.append(Exchange([], [], together, answers))
        return answers

    def _group(self, steps: Iterator[OutgoingStep]) -> Iterator[StepAnswer | Exception]:
        failed: Exception | None = None
        for step in steps:
            try:
                yield failed or self._do(step)
            except Exception as error:
                failed = SubmissionError(Fault(type(error).__name__, str(error)))
                yield failed

    def _do(self, step: OutgoingStep) -> StepAnswer:
        specs, body = packing.dump_tensors(list(step.tensors), strided=True)
        packed = messages.Step(step.operation, specs, len(body), step.seed)
        answer = self._handler.carry_out(packed, memoryview(body))
        answer.tensors, _ = packing.dump_tensors(self._handler.sent)  # their specs name devices
        return StepAnswer(answer, [tensor.detach().clone() for tensor in self._handler.sent])

    def validated(self, read: Callable[[], Any]) -> Any:
        """Return an answer as it is, without validating it."""
        return read()

    def release_after(self, owner: object, handle: int) -> None:
        """Release an object once its owner is garbage-collected."""
        weakref.finalize(owner, self._handler.kept.release, handle)


class LocalSession(NullSession):
    """A session whose worker is this process.

    Args:
        source: Source of the submission.
        name: Name of the submission's file.
    """

    def __init__(self, source: str, name: str = "<source>") -> None:
        super().__init__()
        choose_kernels()
        self._channel: Any = LocalChannel(source, name)
        self.exchanges = self._channel.exchanges

    @property
    def channel(self) -> Any:
        """The channel to this process."""
        return self._channel


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Harness:
    """Return a harness that tries the file named by ``SUBMISSION`` against the suite's contract."""
    path = Path(os.environ["SUBMISSION"])
    session: Any = LocalSession(path.read_text(encoding="utf-8"), str(path))
    return Harness(request.module.contract, session, Draw(1), {})
