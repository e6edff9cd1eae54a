"""The connection to one worker: sends steps, and validates the answers."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Protocol, TypeVar

from torch import Tensor

from grader.sandbox.clock import Clock
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.replies import NOTHING_LOADED, StepAnswer, read_reply
from grader.sandbox.workers import WorkerEnded
from grader.submission import SourceProblem
from grader.wire import packing
from grader.wire.frames import Buffer
from grader.wire.messages import Backward, Call, Load, Operation, Request, Step, TensorSpec
from grader.wire.responses import Reply

_T = TypeVar("_T")

TENSOR_OBJECT_BYTES = 1024  # that a tensor takes beside its numbers


@dataclass
class OutgoingStep:
    """A step to be sent.

    Attributes:
        tensors: Tensors to which the operation refers by index.
        seed: Seed of the worker's random numbers, set before the step.
    """

    operation: Operation
    tensors: Sequence[Tensor] = ()
    seed: int | None = None

    @cached_property
    def packed(self) -> tuple[list[TensorSpec], bytes]:
        """The specs and the bytes of the tensors."""
        return packing.dump_tensors(list(self.tensors), strided=True)


class ExchangeMemory:
    """A limit to the memory for the answers that a session's exchanges (requests) keep.

    Args:
        max_bytes: The limit for all exchanges of a session together, in bytes.
    """

    def __init__(self, max_bytes: int = 160 << 20) -> None:
        self._bytes_left = max_bytes

    def kept(self, exchange: Exchange) -> Exchange:
        """Return the exchange, or an empty one if there is no room left for its answers."""
        answered = [one for one in exchange.answers if isinstance(one, StepAnswer)]
        size = sum(TENSOR_OBJECT_BYTES + x.nbytes for one in answered for x in one.tensors)
        if size > self._bytes_left:
            return Exchange([], [], [], [], computes=exchange.computes)
        self._bytes_left -= size
        return exchange


@dataclass
class Exchange:
    """What a worker was asked in one request, and what it answered.

    Attributes:
        steps: The steps, as they were sent.
        bodies: The bytes of each step's tensors.
        groups: How many steps each group has.
        answers: The answer to each step, as ``Channel.exchange`` returns them.
        fine: Whether each group's answers are right; None if that follows from the check's verdict.
        computes: Whether any step is a call or a backward, rather than only making modules.
    """

    steps: list[Step]
    bodies: list[bytes]
    groups: list[int]
    answers: list[StepAnswer | Exception]
    fine: list[bool] | None = None
    computes: bool = False


class Worker(Protocol):
    """What answers requests: a process, or a stand-in for one."""

    alive: bool

    def send(self, request: Request, clock: Clock, body: Sequence[bytes] = ()) -> None:
        """Send a request, with the bytes of its steps' tensors."""

    def receive(self, clock: Clock) -> tuple[Reply, Buffer]:
        """Return the reply to the last request."""

    def reject(self, problem: str) -> WorkerEnded:
        """Return the error to raise for an answer that ``problem`` says is not valid."""

    def take_output(self) -> str:
        """Return what was printed since the last call."""

    def let_go(self) -> None:
        """Free everything that the worker holds, without waiting for that."""


class Workers(Protocol):
    """What gives out workers: a sandbox, or a stand-in for one."""

    stop: Event  # set by another thread to end what is running

    def worker(self) -> Worker:
        """Return a worker that has answered nothing yet."""


class Channel:
    """Sends steps to a worker and reads its answers; ends a worker that answers nonsense.

    Args:
        worker: The worker.
        broken: List to which the rules are added that the submission is found to break.
        device: The device on which the worker puts what it is sent.
        memory: Bounds what is kept of the answers; a new one where None.

    Attributes:
        worker: The worker.
        clock: The clock of the check that asks.
        exchanges: The exchanges with the worker since ``begin``.
    """

    def __init__(
        self,
        worker: Worker,
        clock: Clock,
        broken: list[SourceProblem] | None = None,
        device: str = "cpu",
        memory: ExchangeMemory | None = None,
    ) -> None:
        self.worker = worker
        self.clock = clock
        self.device = device
        self._memory = memory or ExchangeMemory()
        self.exchanges: list[Exchange] = []
        self._seeds: Iterator[int] = iter(())
        self._handles = itertools.count(1)
        self._released: list[int] = []
        self._broken = [] if broken is None else broken
        self._under_way = False
        self._loaded = NOTHING_LOADED

    def begin(self, seed: int, exchanges: list[Exchange]) -> None:
        """Begin a check: each of its steps that names no seed is given one of its own.

        So the random numbers of a call do not depend on what was drawn before. The exchanges of
        the check are appended to ``exchanges``.
        """
        self._seeds = itertools.count(seed)
        self.exchanges = exchanges

    def new_handle(self) -> int:
        """Return an unused handle: a number by which steps refer to an object in the worker."""
        return next(self._handles)

    def release_after(self, owner: object, handle: int) -> None:
        """Once ``owner`` is garbage-collected, have the next request free the handle's object.

        The finalizer refers to a list of numbers only, not to the channel: a channel refers to
        exceptions, and these to owners, so none of them would ever be freed.
        """
        weakref.finalize(owner, self._released.append, handle)

    def exchange(
        self,
        steps: Sequence[OutgoingStep],
        groups: Sequence[int] = (),
        meanwhile: Callable[[], object] | None = None,
    ) -> list[StepAnswer | Exception]:
        """Send steps in one request, and return their answers.

        Args:
            steps: The steps, in order.
            groups: How many steps each group has; empty for a single group. After a step that
                failed, the rest of its group is not tried.
            meanwhile: Called while the worker is busy.

        Returns:
            An answer for each step; for a step that failed, and for those after it in its group,
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
        self.exchanges.append(self._memory.kept(exchange))
        return answers

    def post(
        self, steps: Sequence[OutgoingStep], groups: Sequence[int] = ()
    ) -> tuple[list[Step], list[bytes]]:
        """Send steps without waiting for answers.

        Returns:
            The steps as they were sent, and the tensors of each, packed into bytes.
        """
        packed, parts = [], []
        for outgoing in steps:
            if isinstance(outgoing.operation, Load):
                self._loaded = outgoing.operation
            specs, body = outgoing.packed
            seed = next(self._seeds, None) if outgoing.seed is None else outgoing.seed
            packed.append(Step(outgoing.operation, specs, len(body), seed))
            parts.append(body)
        released = self._released.copy()
        del self._released[: len(released)]
        request = Request(packed, released, groups=list(groups))
        self.worker.send(request, self.clock, parts)
        return packed, parts

    def collect(self, groups: Sequence[int]) -> list[StepAnswer | Exception]:
        """Receive the answers to steps that were posted, in groups of these sizes."""
        reply, body = self.worker.receive(self.clock)
        answers = self.validated(lambda: read_reply(reply, body, groups, self._loaded))
        self._broken += [one for one in answers if isinstance(one, SourceProblem)]
        if self._broken:
            raise self._broken[0]
        return answers

    def validated(self, read: Callable[[], _T]) -> _T:
        """Parse an answer with ``read``; end a worker whose answer is malformed.

        Raises:
            WorkerEnded: The answer was malformed.
        """
        try:
            return read()
        except (SubmissionError, SubmissionRefused):
            raise
        except Exception as problem:  # a malicious answer may raise anything
            raise self.worker.reject(f"{type(problem).__name__}: {problem}") from None
