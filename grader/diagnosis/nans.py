"""Find where a wrong NaN begins, by asking the submission once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import torch

from grader.diagnosis.edits import right_ways
from grader.diagnosis.replay import (
    AskedStep,
    CheckExchanges,
    Replay,
    ReplayUnit,
    quiet_and_seeded,
    replay_units_of,
    types_and_shapes,
)
from grader.records import Fault
from grader.sandbox.channel import OutgoingStep
from grader.sandbox.errors import SubmissionError
from grader.sandbox.replies import StepAnswer
from grader.sandbox.session import Session
from grader.submission import read_submission
from grader.wire import messages, packing

# Units (parts of checks that can be asked again by themselves) that are asked, at most: where NaN
# begins late in one, another may show an earlier line.
MAX_ASKED_UNITS = 9


def first_nan(
    checks: Sequence[CheckExchanges], solution: Path, mistakes: Path, session: Session
) -> Fault | None:
    """Return the exception that a worker raises where NaN first appears; None if none is found.

    Where the solution, or one of its habits, gives NaN as well, NaN is no mistake.

    Args:
        checks: What each check asked of the submission, with the answers.
        solution: File of the exercise's solution, which is run in this process.
        mistakes: File of the exercise's known mistakes, which has its habits.
        session: Session of the submission, in which a check has begun.
    """
    found = [unit for unit in replay_units_of(checks) if not unit.passed and _holds_nan(unit)]
    if not found or not solution.is_file():
        return None
    with quiet_and_seeded():
        ways = right_ways(read_submission(solution).source, mistakes)
        rights = [replay for way in ways if (replay := Replay.of(way, session.device))]
        tried = sorted(found, key=lambda one: one.size)[:MAX_ASKED_UNITS]
        told = [
            one
            for one in tried
            if rights and all(_is_sound(right.answer_unit(one), one) for right in rights)
        ]
        faults = _raised(told, session) if told else ()
        return min(faults, key=lambda one: one.frames[-1].line, default=None)


def _holds_nan(unit: ReplayUnit) -> bool:
    answers = [one.answer for group in unit.groups for one in group]
    tensors = [x for one in answers if isinstance(one, StepAnswer) for x in one.tensors]
    return any(bool(x.isnan().any()) for x in tensors if x.is_floating_point() and not x.is_meta)


def _is_sound(expected: ReplayUnit, unit: ReplayUnit) -> bool:
    """Return whether all steps were answered as in ``unit``, up to numbers, and without NaN."""
    answers = [one.answer for group in expected.groups for one in group]
    if not all(isinstance(one, StepAnswer) for one in answers) or _holds_nan(expected):
        return False
    return types_and_shapes(unit) == types_and_shapes(expected)


def _raised(units: Sequence[ReplayUnit], session: Session) -> Iterator[Fault]:
    """Ask units of the submission again, to raise where NaN begins; yield the exceptions."""
    groups = [group for unit in units for group in unit.groups]
    steps = [
        OutgoingStep(_stopping(one.step.operation), _sent(one), one.step.seed)
        for group in groups
        for one in group
    ]
    for answer in session.channel.exchange(steps, list(map(len, groups))):
        if isinstance(answer, SubmissionError) and answer.fault.type == "NotANumber":
            yield from [answer.fault] if answer.fault.frames else []


def _stopping(operation: messages.Operation) -> messages.Operation:
    if isinstance(operation, messages.Call):
        return msgspec.structs.replace(operation, stops_at_nan=True)
    return operation


def _sent(asked: AskedStep) -> list[torch.Tensor]:
    return packing.load_tensors(asked.step.tensors, asked.body, True)
