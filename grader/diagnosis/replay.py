"""What a submission was asked, asked of another source; without a sandbox, so only of ours."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.diagnosis.same import difference
from grader.records import Fault
from grader.sandbox.channel import Exchange
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.replies import Answered
from grader.wire import messages, values
from grader.worker.handler import Refusal, RequestHandler

FILE = "<solution>"
MOST = 200_000  # instructions of a source in one step: the same whatever the machine is at
ROUNDINGS = 8  # of an input; where they show, another order of operations would show as well
SHIFT = 1 << 40  # to another seed
TOO_LONG = "time"  # a difference that tells nothing of what would have come


class Asked(NamedTuple):
    """One step that a submission was asked, the bytes of its tensors, and what it answered."""

    step: messages.Step
    body: bytes
    answer: Answered | Exception


class Check(NamedTuple):
    """What a check asked of a submission, and whether all was as it should be."""

    exchanges: Sequence[Exchange]
    passed: bool


class Unit(NamedTuple):
    """Groups of steps that need nothing of other units.

    Attributes:
        fine: Whether what came is as it should be: then another answer may be so as well.
    """

    groups: list[list[Asked]]
    fine: bool

    @property
    def size(self) -> int:
        """How much it takes to ask it."""
        return sum(1000 + len(asked.body) for group in self.groups for asked in group)


class _TooLong(BaseException):
    """A source runs longer than it may."""


def units_of(checks: Sequence[Check]) -> list[Unit]:
    """What can be asked alone: a check, or of one that asks for things apart each of them."""
    found: list[Unit] = []
    for check in checks:
        rest: list[list[Asked]] = []
        judged = check.passed
        for exchange in check.exchanges:
            groups, fine = _groups(exchange), exchange.fine
            if len(groups) > 1 and all(map(_stands_alone, groups)):
                each = fine if fine and len(fine) == len(groups) else [False] * len(groups)
                found += [Unit([group], one) for group, one in zip(groups, each, strict=True)]
            else:
                rest += groups
                judged = judged and fine is None
        if rest:
            found.append(Unit(rest, judged))
    return found


def _stands_alone(group: list[Asked]) -> bool:
    """Whether a group makes itself what it uses."""
    made: set[int | None] = set()
    for operation in (asked.step.operation for asked in group):
        match operation:
            case messages.Create(handle=handle):
                made.add(handle)
            case messages.Call(target=int() as handle) if handle not in made:
                return False
            case messages.Call(keep=handle):
                made.add(handle)
            case messages.Move(handle=handle) | messages.Renew(handle=handle) if handle not in made:
                return False
    return True


def _groups(exchange: Exchange) -> list[list[Asked]]:
    asked = map(Asked, exchange.steps, exchange.bodies, exchange.answers)
    return [[next(asked) for _ in range(count)] for count in exchange.groups]


def forms(unit: Unit) -> list[list[object]]:
    """What the answers look like beside their numbers, group by group up to what was raised."""
    return [[_form(asked.answer) for asked in _answers(group)] for group in unit.groups]


def same_answers(one: Unit, other: Unit) -> bool:
    """Whether two sources gave the same, as far as the first is known."""
    return not any(
        _difference(came.answer, mine.answer)
        for group, others in zip(one.groups, other.groups, strict=True)
        for came, mine in zip(_answers(group), others, strict=False)
    )


def _answers(group: list[Asked]) -> Iterator[Asked]:
    """The steps of a group, up to the first that failed."""
    for asked in group:
        yield asked
        if not isinstance(asked.answer, Answered):
            return


def _form(answer: Answered | Exception) -> object:
    if isinstance(answer, SubmissionError):
        return answer.fault.type
    if not isinstance(answer, Answered):
        return ""
    return [type(answer.answer), *((one.shape, one.dtype) for one in answer.tensors)]


def _difference(came: Answered | Exception, mine: Answered | Exception) -> str:
    """Of what kind the difference is between what came and what comes here; empty for none."""
    if isinstance(came, SubmissionRefused):
        return ""  # what would have come is not known
    if isinstance(mine, SubmissionError) and mine.fault.type == _TooLong.__name__:
        return TOO_LONG
    if not isinstance(came, Answered) or not isinstance(mine, Answered):
        alike = isinstance(mine, SubmissionError) and _form(came) == _form(mine)
        return "" if alike else "exception"
    try:
        return difference(came, mine.answer, mine.tensors)
    except Exception:  # an answer that nobody has looked at may be of any form
        return "output"


def _where_finite(came: Answered | Exception, mine: Answered | Exception) -> Answered | Exception:
    """What comes here, and what came where that is not finite; of other forms, what comes here."""
    if not isinstance(came, Answered) or not isinstance(mine, Answered):
        return mine
    if _form(came) != _form(mine) or any(one.is_meta for one in (*came.tensors, *mine.tensors)):
        return mine
    pairs = zip(came.tensors, mine.tensors, strict=True)
    return mine._replace(tensors=[torch.where(x.isfinite(), due, x) for x, due in pairs])


def shaken(unit: Unit) -> Unit:
    """The same with other random numbers, and with inputs that are rounded otherwise."""
    return unit._replace(groups=[[_shaken(asked) for asked in group] for group in unit.groups])


def _shaken(asked: Asked) -> Asked:
    step = asked.step
    tensors = [_rounded(one) for one in values.load_tensors(step.tensors, asked.body, True)]
    specs, body = values.dump_tensors(tensors, strided=True)
    seed = None if step.seed is None else step.seed + SHIFT
    return asked._replace(step=messages.Step(step.operation, specs, len(body), seed), body=body)


def _rounded(tensor: Tensor) -> Tensor:
    if not tensor.is_floating_point() or tensor.device.type == "meta":
        return tensor
    noise = torch.rand(tensor.shape, dtype=torch.float64).sub(0.5).to(tensor.device)
    rate = ROUNDINGS * torch.finfo(tensor.dtype).eps
    moved = (tensor.detach().double() * (1 + rate * noise)).to(tensor.dtype)
    return moved.requires_grad_(tensor.requires_grad)


class Replay:
    """A source of ours, in a module of its own in this process.

    Args:
        code: The compiled source.
        device: Where the submission had its tensors: dropout draws by the device.
    """

    def __init__(self, code: CodeType, device: str = "cpu") -> None:
        self._handler = RequestHandler()
        self._handler.settle(device)
        with bounded():
            exec(code, self._handler.module.__dict__)

    @classmethod
    def of(cls, source: str, device: str = "cpu") -> Replay | None:
        """The source, run; None where it cannot be."""
        try:
            return cls(compile(source, FILE, "exec", dont_inherit=True), device)
        except KeyboardInterrupt:
            raise
        except BaseException:  # of an edit; it reproduces nothing
            return None

    def differences(self, unit: Unit) -> Iterator[str]:
        """Of what kind each answer is that differs from the one that came."""
        self._handler.objects.clear()
        self._handler.graphs.clear()
        for group in unit.groups:
            for asked in group:
                mine = self.own(asked).answer
                if kind := _difference(asked.answer, mine):
                    yield kind
                if not isinstance(asked.answer, Answered) or not isinstance(mine, Answered):
                    break

    def proves_nothing(self, unit: Unit) -> bool:
        """Whether what came differs from what comes here in numbers alone that are not finite."""
        due = self.answered(unit)
        return not any(
            _difference(came.answer, _where_finite(came.answer, mine.answer))
            for group, others in zip(unit.groups, due.groups, strict=True)
            for came, mine in zip(_answers(group), others, strict=False)
        )

    def is_steady(self, unit: Unit) -> bool:
        """Whether neither chance nor rounding decides what comes."""
        return not any(self.differences(shaken(self.answered(unit))))

    def answered(self, unit: Unit) -> Unit:
        """The same with the answers that come here."""
        return unit._replace(groups=[[self.own(a) for a in group] for group in unit.groups])

    def own(self, asked: Asked) -> Asked:
        """The same step with the answer that comes here."""
        try:
            with bounded():
                answer = self._handler.carry_out(asked.step, memoryview(asked.body))
        except Refusal as refusal:
            return asked._replace(answer=SubmissionRefused(str(refusal)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            fault = Fault(type(error).__name__, str(error))
            return asked._replace(answer=SubmissionError(fault))
        sent = [tensor.detach().clone() for tensor in self._sent]
        return asked._replace(answer=Answered(answer, sent))

    @property
    def _sent(self) -> list[Tensor]:
        """The tensors of the last answer, where those of the submission's are: on the CPU."""
        return [tensor if tensor.is_meta else tensor.cpu() for tensor in self._handler.sent]


def module_of(source: str) -> ModuleType:
    """A source of ours, run in a module of its own; ``bounded`` knows its lines."""
    module = ModuleType("solution")
    exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
    return module


@contextmanager
def aside() -> Iterator[None]:
    """What a source of ours warns of is no news, and it draws the same each time."""
    state = random.getstate()
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            torch.manual_seed(0)
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(state)


@contextmanager
def bounded() -> Iterator[None]:
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
