"""The connection to one worker: what is sent, and what is believed of its answers."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from torch import Tensor

from grader.sandbox.clock import Clock
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.replies import Answered, read_reply
from grader.sandbox.workers import WorkerProcess
from grader.submission import SourceProblem
from grader.wire import values
from grader.wire.messages import Backward, Call, Operation, Request, Step

_T = TypeVar("_T")


class Outgoing(NamedTuple):
    """A step to be sent.

    Attributes:
        tensors: Those that the operation names by number.
        seed: Of the worker's random numbers, set before it.
    """

    operation: Operation
    tensors: Sequence[Tensor] = ()
    seed: int | None = None


class Store:
    """What of the exchanges of a session is kept: so many bytes of answers, and no more."""

    def __init__(self, room: int = 160 << 20) -> None:
        self._room = room

    def kept(self, exchange: Exchange) -> Exchange:
        """The exchange; empty where there is no room for it."""
        answered = [one for one in exchange.answers if isinstance(one, Answered)]
        size = sum(tensor.nbytes for one in answered for tensor in one.tensors)
        if size > self._room:
            return Exchange([], [], [], [], computes=exchange.computes)
        self._room -= size
        return exchange


@dataclass
class Exchange:
    """What a worker was asked in one request, and what it answered.

    Attributes:
        steps: As they were sent.
        bodies: The bytes of the tensors of each.
        groups: How many of them belong together, group by group.
        answers: To each, as ``Channel.exchange`` gives them.
        fine: Which groups came out as they should; None where the check that asked tells that.
        computes: Whether anything was to be computed, not only made.
    """

    steps: list[Step]
    bodies: list[bytes]
    groups: list[int]
    answers: list[Answered | Exception]
    fine: list[bool] | None = None
    computes: bool = False


class Channel:
    """Sends steps to a worker and reads its answers; one that answers nonsense is ended.

    Args:
        worker: The process.
        broken: Takes the rules that the submission is found to break.
        device: Where the worker has what it is sent.
        store: Keeps what was asked and answered; one of its own where None.

    Attributes:
        worker: The process.
        clock: Of the check that asks.
        exchanges: What it was asked since ``begin``.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        clock: Clock,
        broken: list[SourceProblem] | None = None,
        device: str = "cpu",
        store: Store | None = None,
    ) -> None:
        self.worker = worker
        self.clock = clock
        self.device = device
        self._store = store or Store()
        self.exchanges: list[Exchange] = []
        self._seeds: Iterator[int] = iter(())
        self._handles = itertools.count(1)
        self._released: list[int] = []
        self._broken = [] if broken is None else broken
        self._under_way = False

    def begin(self, seed: int, exchanges: list[Exchange]) -> None:
        """Begin a check: each of its steps that names no seed is given one of its own.

        So what a call draws depends on nothing that was drawn before. What is asked, and what
        comes, goes into ``exchanges``.
        """
        self._seeds = itertools.count(seed)
        self.exchanges = exchanges

    def new_handle(self) -> int:
        """A handle for what a step is to make."""
        return next(self._handles)

    def release_after(self, owner: object, handle: int) -> None:
        """Let what a handle stands for go once nobody has its owner, with the next request.

        Until then no more than a list of numbers is held for it: a channel knows of exceptions,
        which know of owners, and none of them would ever go.
        """
        weakref.finalize(owner, self._released.append, handle)

    def exchange(
        self,
        steps: Sequence[Outgoing],
        groups: Sequence[int] = (),
        meanwhile: Callable[[], object] | None = None,
    ) -> list[Answered | Exception]:
        """Have steps carried out in one request.

        Args:
            steps: In their order.
            groups: How many of them belong together, group by group; all where it is empty. After
                one that failed, the others of its group are not tried.
            meanwhile: Is called while the worker is busy.

        Returns:
            Their answers; for one that failed, and for those after it in its group,
            ``SubmissionError`` or ``SubmissionRefused``.

        Raises:
            SourceProblem: The submission has broken a rule of its exercise.
            WorkerEnded: The worker crashed, exited, took too long, or answered nonsense.
        """
        if self._under_way:
            raise RuntimeError("a request is asked while another one is under way")
        packed, parts = self.post(steps, groups)
        self._under_way = True
        try:
            if meanwhile is not None:
                meanwhile()
            together = list(groups or [len(steps)])
            answers = self.collect(together)
        finally:
            self._under_way = False
        computes = any(isinstance(one.operation, Call | Backward) for one in steps)
        exchange = Exchange(packed, parts, together, answers, computes=computes)
        self.exchanges.append(self._store.kept(exchange))
        return answers

    def post(
        self, steps: Sequence[Outgoing], groups: Sequence[int] = ()
    ) -> tuple[list[Step], list[bytes]]:
        """Send steps whose answers are taken later; what was sent, and the bytes of each."""
        packed, parts = [], []
        for outgoing in steps:
            specs, body = values.dump_tensors(list(outgoing.tensors), strided=True)
            seed = next(self._seeds, None) if outgoing.seed is None else outgoing.seed
            packed.append(Step(outgoing.operation, specs, len(body), seed))
            parts.append(body)
        released = self._released.copy()
        del self._released[: len(released)]
        request = Request(packed, released, groups=list(groups))
        self.worker.send(request, self.clock, parts)
        return packed, parts

    def collect(self, groups: Sequence[int]) -> list[Answered | Exception]:
        """The answers to groups of so many steps."""
        reply, body = self.worker.receive(self.clock)
        answers = self.validated(lambda: read_reply(reply, body, groups))
        self._broken += [one for one in answers if isinstance(one, SourceProblem)]
        if self._broken:
            raise self._broken[0]
        return answers

    def validated(self, read: Callable[[], _T]) -> _T:
        """Take an answer apart; a worker whose answer has another form is ended.

        Raises:
            WorkerEnded: The answer had another form.
        """
        try:
            return read()
        except (SubmissionError, SubmissionRefused):
            raise
        except Exception as problem:  # an answer that was made to break us may do it in any way
            text = f"{type(problem).__name__}: {problem}"
            raise self.worker.reject(text[:200]) from None
