"""Replay a submission's requests on a source of ours: the solution, maybe with known mistakes.

It runs in this process, without a sandbox. A unit is a part of what checks asked that can be asked
again by itself, with the answers.
"""

from __future__ import annotations

import itertools
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.diagnosis.same import difference
from grader.records import Fault
from grader.sandbox.channel import Exchange
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.replies import StepAnswer
from grader.wire import messages
from grader.worker.handler import RequestHandler
from grader.worker.kept import Kept, Refusal

SOLUTION_FILENAME = "<solution>"
MAX_INSTRUCTIONS = 200_000  # of a source in one step: the same however busy the machine is
Change = Callable[[ModuleType], None]
TOO_LONG = "time"  # a kind of difference: our source took too long, so its answer is not known


Answer = StepAnswer | Exception


class AskedStep(NamedTuple):
    """One step sent to a submission, the bytes of its tensors, and the answer."""

    step: messages.Step
    body: bytes
    answer: Answer


class CheckExchanges(NamedTuple):
    """What a check asked of a submission, with the answers, and whether the check passed."""

    exchanges: Sequence[Exchange]
    passed: bool


class ReplayUnit(NamedTuple):
    """A part of what checks asked of a submission that can be asked again without any other unit.

    Attributes:
        groups: Groups of steps with the answers; a step that failed ended its group.
        passed: Whether the answers passed the check: then other answers might pass as well.
    """

    groups: list[list[AskedStep]]
    passed: bool

    @property
    def size(self) -> int:
        """The cost of asking the unit: the bytes of its tensors, and 1000 for each step."""
        return sum(1000 + len(asked.body) for group in self.groups for asked in group)


class _TooLong(BaseException):
    """Raised where a source runs more instructions than it may."""


def replay_units_of(checks: Sequence[CheckExchanges]) -> list[ReplayUnit]:
    """Split checks into units: whole checks, or single groups of steps that stand alone."""
    found: list[ReplayUnit] = []
    for check in checks:
        rest: list[list[AskedStep]] = []
        judged = check.passed
        for exchange in check.exchanges:
            groups, fine = _groups(exchange), exchange.fine
            if len(groups) > 1 and all(map(_stands_alone, groups)):
                each = fine if fine and len(fine) == len(groups) else [False] * len(groups)
                found += [ReplayUnit([group], one) for group, one in zip(groups, each, strict=True)]
            else:
                rest += groups
                judged = judged and fine is None
        if rest:
            found.append(ReplayUnit(rest, judged))
    return found


def _stands_alone(group: list[AskedStep]) -> bool:
    """Return whether a group creates all objects that it uses."""
    made: set[int | None] = set()
    for operation in (asked.step.operation for asked in group):
        match operation:
            case messages.Create(handle=handle):
                made.add(handle)
            case messages.Call(target=int() as handle) if handle not in made:
                return False
            case messages.Call(results_handle=handle):
                made.add(handle)
            case messages.Move(handle=handle) | messages.Renew(handle=handle) if handle not in made:
                return False
    return True


def asked_steps(exchange: Exchange) -> Iterator[AskedStep]:
    """Yield the steps of a request, with the answers."""
    return map(AskedStep, exchange.steps, exchange.bodies, exchange.answers)


def _groups(exchange: Exchange) -> list[list[AskedStep]]:
    asked = asked_steps(exchange)
    return [[next(asked) for _ in range(count)] for count in exchange.groups]


def types_and_shapes(unit: ReplayUnit) -> list[list[object]]:
    """Return types and shapes of a unit's answers, up to the first failure in each group."""
    return [[form_of(asked.answer) for asked in _answers(group)] for group in unit.groups]


def same_answers(one: ReplayUnit, other: ReplayUnit) -> bool:
    """Return whether two sources answered a unit alike, where the first one's answers are known."""
    return not any(itertools.starmap(difference_between, _pairs(one, other)))


def _pairs(one: ReplayUnit, other: ReplayUnit) -> Iterator[tuple[Answer, Answer]]:
    """Yield both answers to each step, up to the first in each group that failed in ``one``."""
    for group, others in zip(one.groups, other.groups, strict=True):
        for theirs, mine in zip(_answers(group), others, strict=False):
            yield theirs.answer, mine.answer


def _answers(group: list[AskedStep]) -> Iterator[AskedStep]:
    """Yield the steps of a group up to the first that failed, which is included."""
    for asked in group:
        yield asked
        if not isinstance(asked.answer, StepAnswer):
            return


def form_of(answer: Answer) -> object:
    """Return the types and shapes of an answer, or the type of its exception."""
    if isinstance(answer, SubmissionError):
        return answer.fault.type
    if not isinstance(answer, StepAnswer):
        return ""
    return [type(answer.answer), *((one.shape, one.dtype) for one in answer.tensors)]


def difference_between(theirs: Answer, mine: Answer) -> str:
    """Return the kind of difference between a submission's answer and ours; empty for none."""
    if isinstance(theirs, SubmissionRefused):
        return ""  # the answer that would have come is not known
    if isinstance(mine, SubmissionError) and mine.fault.type == _TooLong.__name__:
        return TOO_LONG
    if not isinstance(theirs, StepAnswer) or not isinstance(mine, StepAnswer):
        alike = isinstance(mine, SubmissionError) and form_of(theirs) == form_of(mine)
        return "" if alike else "exception"
    try:
        return difference(theirs, mine.answer, mine.tensors)
    except Exception:  # an unchecked answer may have any form
        return "output"


def _where_finite(theirs: Answer, mine: Answer) -> Answer:
    """Return our answer with the submission's non-finite numbers put in, if their shapes agree."""
    if not isinstance(theirs, StepAnswer) or not isinstance(mine, StepAnswer):
        return mine
    if form_of(theirs) != form_of(mine) or any(
        one.is_meta for one in (*theirs.tensors, *mine.tensors)
    ):
        return mine
    pairs = zip(theirs.tensors, mine.tensors, strict=True)
    return mine._replace(tensors=[torch.where(x.isfinite(), value, x) for x, value in pairs])


class Replay:
    """A source of ours (the solution, maybe with mistakes) that answers a submission's requests.

    It runs as a module in this process.

    Args:
        source: The source.
        device: Device on which the submission had its tensors: on another, dropout draws otherwise.
        change: Changes the module once the source has run.
    """

    def __init__(self, source: str, device: str = "cpu", change: Change | None = None) -> None:
        code = compile(source, SOLUTION_FILENAME, "exec", dont_inherit=True)
        self._handler = RequestHandler()
        self._handler.settle(device)
        with instruction_limit():
            exec(code, self._handler.module.__dict__)
        if change is not None:
            change(self._handler.module)

    @classmethod
    def of(cls, source: str, device: str = "cpu", change: Change | None = None) -> Replay | None:
        """Return a replay of a source; None where the source cannot be run."""
        try:
            return cls(source, device, change)
        except KeyboardInterrupt:
            raise
        except BaseException:  # an edit that cannot run reproduces nothing
            return None

    def differences(self, unit: ReplayUnit) -> Iterator[str]:
        """Yield the kind, such as ``output``, of each difference of our answers from a unit's."""
        for _, theirs, mine in self.answers(unit):
            if kind := difference_between(theirs, mine):
                yield kind

    def answers(self, unit: ReplayUnit) -> Iterator[tuple[tuple[int, int], Answer, Answer]]:
        """Yield each step's place (its group, and where in it), the unit's answer and ours.

        A group ends at the first step that failed.
        """
        self._handler.kept = Kept()
        for number, group in enumerate(unit.groups):
            for place, asked in enumerate(group):
                mine = self.answer_step(asked).answer
                yield (number, place), asked.answer, mine
                if not isinstance(asked.answer, StepAnswer) or not isinstance(mine, StepAnswer):
                    break

    def differs_only_where_not_finite(self, unit: ReplayUnit) -> bool:
        """Return whether the submission's answers differ from ours in non-finite numbers alone."""
        pairs = _pairs(unit, self.answer_unit(unit))
        return not any(difference_between(one, _where_finite(one, mine)) for one, mine in pairs)

    def answer_unit(self, unit: ReplayUnit) -> ReplayUnit:
        """Return the unit with our answers in place of the submission's."""
        return unit._replace(groups=[[self.answer_step(a) for a in group] for group in unit.groups])

    def answer_step(self, asked: AskedStep) -> AskedStep:
        """Return the step with our answer in place of the submission's."""
        try:
            with instruction_limit():
                answer = self._handler.carry_out(asked.step, memoryview(asked.body))
        except Refusal as refusal:
            return asked._replace(answer=SubmissionRefused(str(refusal)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = Fault(type(error).__name__, str(error))
            return asked._replace(answer=SubmissionError(fault))
        sent = [tensor.detach().clone() for tensor in self._sent]
        return asked._replace(answer=StepAnswer(answer, sent))

    @property
    def _sent(self) -> list[Tensor]:
        """The tensors of our last answer, on the CPU, as those of the submission are."""
        return [tensor if tensor.is_meta else tensor.cpu() for tensor in self._handler.sent]


def module_of(source: str) -> ModuleType:
    """Run our own source in a new module, under the file name watched by ``instruction_limit``."""
    module = ModuleType("solution")
    exec(compile(source, SOLUTION_FILENAME, "exec", dont_inherit=True), module.__dict__)
    return module


@contextmanager
def quiet_and_seeded() -> Iterator[None]:
    """Silence warnings and fix the seed while a source of ours runs; restore both afterwards."""
    state = random.getstate()
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            torch.manual_seed(0)
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(state)


@contextmanager
def instruction_limit() -> Iterator[None]:
    """End a source of ours after ``MAX_INSTRUCTIONS`` instructions, even in a one-line loop."""
    left = MAX_INSTRUCTIONS

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != SOLUTION_FILENAME:
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
