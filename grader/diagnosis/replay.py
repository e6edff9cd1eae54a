"""What a submission was asked, asked of another source; without a sandbox, so only of ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.diagnosis.same import same
from grader.sandbox.channel import Exchange
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.replies import Answered
from grader.wire import messages, values
from grader.worker.handler import RequestHandler

FILE = "<solution>"
MOST = 200_000  # instructions of a source in one step: the same whatever the machine is at
# As in the search through the pipeline; of float64 what float32 would lose.
TOLERANCE = {torch.float64: 1e-9, torch.bfloat16: 0.1, torch.float16: 1e-2}
USUAL = 1e-4
GRADIENTS = 10  # times as much: they are longer sums


class Asked(NamedTuple):
    """One step that a submission was asked.

    Attributes:
        body: The bytes of its tensors.
        answer: What came.
        counts: Whether another answer is a difference.
    """

    step: messages.Step
    body: bytes
    answer: Answered | Exception
    counts: bool = True


class Check(NamedTuple):
    """What a check asked of a submission, and whether all was as it should be."""

    exchanges: Sequence[Exchange]
    passed: bool


Unit = list[list[Asked]]  # groups of steps that need nothing of other units


class _TooLong(BaseException):
    """A source runs longer than it may."""


def units_of(checks: Sequence[Check]) -> list[Unit]:
    """What can be asked alone: a check, or of one that asks for things apart each of them."""
    found: list[Unit] = []
    for check in checks:
        rest: Unit = []
        known: set[int | str] = set()
        for exchange in check.exchanges:
            groups = _groups(exchange, check.passed, known)
            if len(groups) == 1:
                rest += groups
            else:
                found += [[group] for group in groups]
        if rest:
            found.append(rest)
    return found


def _groups(exchange: Exchange, passed: bool, known: set[int | str]) -> list[list[Asked]]:
    """The groups of steps; ``known`` are the modules whose weights were set."""
    asked = (
        Asked(step, body, answer, not passed or not _is_free(step.operation, known))
        for step, body, answer in zip(
            exchange.steps, exchange.bodies, exchange.answers, strict=True
        )
    )
    return [[next(asked) for _ in range(count)] for count in exchange.groups]


def _is_free(operation: messages.Operation, known: set[int | str]) -> bool:
    """Whether first values show, which are a submission's own as long as no check is about them."""
    match operation:
        case messages.Create(with_values=shown):
            return shown
        case messages.Call(target=int() as target, weights=weights):
            known.update([target] if weights else [])
            return target not in known
    return False


def size_of(unit: Unit) -> int:
    """How much it takes to ask it."""
    return sum(1000 + len(asked.body) for group in unit for asked in group)


class Replay:
    """A source of ours, in a module of its own in this process.

    Args:
        code: The compiled source.
    """

    def __init__(self, code: CodeType) -> None:
        self._handler = RequestHandler()
        with _bounded():
            exec(code, self._handler.module.__dict__)

    @classmethod
    def of(cls, source: str) -> Replay | None:
        """The source, run; None where it cannot be."""
        try:
            return cls(compile(source, FILE, "exec", dont_inherit=True))
        except KeyboardInterrupt:
            raise
        except BaseException:  # of an edit; it reproduces nothing
            return None

    def differences(self, unit: Unit) -> Iterator[str]:
        """Of what kind each answer is that differs from the submission's."""
        self._handler.objects.clear()
        self._handler.graphs.clear()
        for group in unit:
            for asked in group:
                if isinstance(asked.answer, SubmissionRefused):
                    break  # what would have come is not known
                kind, goes_on = self._ask(asked)
                if kind and asked.counts:
                    yield kind
                if not goes_on:
                    break

    def _ask(self, asked: Asked) -> tuple[str, bool]:
        """How the answer to a step differs, and whether there is one on both sides."""
        try:
            with _bounded():
                answer = self._handler.carry_out(asked.step, asked.body)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = isinstance(asked.answer, SubmissionError) and asked.answer.fault.type
            return "" if raised == type(error).__name__ else "exception", False
        if not isinstance(asked.answer, Answered):
            return "exception", False
        return _difference(asked.answer, answer, self._handler.sent), True


@contextmanager
def _bounded() -> Iterator[None]:
    """An endless loop ends, even one in a single line."""
    left = MOST

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != FILE:
            return None
        frame.f_trace_opcodes = True
        left -= 1
        if left < 0:
            raise _TooLong
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _difference(came: Answered, answer: messages.Answer, sent: list[Tensor]) -> str:
    """Of what kind the difference between two answers is; empty where there is none."""
    match came.answer, answer:
        case messages.Created(parameters=theirs), messages.Created(parameters=ours):
            return "" if theirs == ours and _all_same(sent, came.tensors) else "parameters"
        case messages.Called() as theirs, messages.Called() as ours:
            if theirs.results != ours.results or not _all_same(sent, came.tensors):
                return "output"
            if theirs.changed != ours.changed:
                return "inputs"
            return "" if theirs.grads == ours.grads else "gradients"
        case messages.Gradients(result=theirs), messages.Gradients(result=ours):
            pair = _gradients(theirs, came.tensors), _gradients(ours, sent)
            return "" if _same_gradients(*pair) else "gradients"
    return "" if type(came.answer) is type(answer) else "output"


def _gradients(tree: Any, tensors: list[Tensor]) -> list[Tensor | None]:
    return values.decode(tree, tensors) or []


def _same_gradients(theirs: list[Tensor | None], ours: list[Tensor | None]) -> bool:
    """Whether gradients agree, where none is as good as zeros."""
    count = max(len(theirs), len(ours))  # no list at all stands for no gradients
    pairs = zip(
        ours or [None] * count,
        theirs or [None] * count,
        strict=True,
    )
    return all(_same_gradient(one, other) for one, other in pairs)


def _same_gradient(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        known = one if other is None else other
        return known is None or not bool(known.any())
    return _alike(one, other, GRADIENTS)


def _all_same(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _alike(one: Tensor, other: Tensor, times: int = 1) -> bool:
    """Whether two tensors are the same but for rounding."""
    one = one.detach()
    if (one.dtype, one.device, one.shape) != (other.dtype, other.device, other.shape):
        return False
    if one.device.type == "meta":
        return True
    if not one.is_floating_point():
        return torch.equal(one, other)
    return same(one.double(), other.double(), times * TOLERANCE.get(one.dtype, USUAL))
