"""A session with a source of our own in this process: no sandbox, and no waiting for one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from grader.attention.contract import AttentionContract
from grader.attention.observe import explain
from grader.diagnosis.catalogue import Explanation
from grader.records import Fault
from grader.sandbox.batch import RequestBatch
from grader.sandbox.channel import Outgoing
from grader.sandbox.errors import SubmissionError
from grader.sandbox.replies import Answered
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.wire import messages, values
from grader.worker.handler import RequestHandler


class _Channel:
    """What a worker would do, done here."""

    def __init__(self, source: str) -> None:
        self._handler = RequestHandler()
        self._handler.do_load(messages.Load(source, "<source>"), [])
        self._handles = itertools.count(1)
        self.new_handle = self._handles.__next__

    def exchange(
        self, steps: Sequence[Outgoing], groups: Sequence[int] = (), meanwhile: object = None
    ) -> list[Answered | Exception]:
        """Do what was planned, group by group."""
        left = iter(steps)
        return [
            answer
            for count in groups or [len(steps)]
            for answer in self._group(itertools.islice(left, count))
        ]

    def _group(self, steps: Iterator[Outgoing]) -> Iterator[Answered | Exception]:
        failed: Exception | None = None
        for step in steps:
            if failed is None:
                try:
                    yield self._do(step)
                    continue
                except Exception as error:
                    failed = SubmissionError(Fault(type(error).__name__, str(error)))
            yield failed

    def _do(self, step: Outgoing) -> Answered:
        specs, body = values.dump_tensors(list(step.tensors), strided=True)
        packed = messages.Step(step.operation, specs, len(body), step.seed)
        answer = self._handler.carry_out(packed, memoryview(body))
        return Answered(answer, [tensor.detach().clone() for tensor in self._handler.sent])

    def validated(self, read: Callable[[], Any]) -> Any:
        """An answer as it is."""
        return read()

    def release(self, handle: int) -> None:
        """Let an object go."""
        self._handler.objects.pop(handle, None)


class _Session:
    def __init__(self, source: str) -> None:
        self._channel: Any = _Channel(source)

    def batch(self) -> RequestBatch:
        """A batch of requests to it."""
        return RequestBatch(self._channel)


def explained_here(source: str, contract: AttentionContract) -> Explanation:
    """Which mistakes reproduce a source of ours; by one thread, as a grading does."""
    session: Any = _Session(source)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return explain(Harness(contract, session, Draw(1), "cpu", {}))
    finally:
        torch.set_num_threads(threads)
