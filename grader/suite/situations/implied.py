"""Claims that hold where every situation is right."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.workers import WorkerEnded
from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.situations.judging import Judgement
from grader.suite.situations.trial import judge_situations, judge_where_wrong

Claim = Callable[[Harness], None]


def judgement(harness: Harness) -> Judgement | None:
    """What came of all situations, once for all checks; None where the contract has none."""
    return harness.shared(_judge)


def _judge(harness: Harness) -> Judgement | None:
    if not harness.contract.has_situations:
        return None
    other = harness.shared(_other)
    return judge_situations(harness) if other is None else judge_where_wrong(harness, other)


def _other(_: Harness) -> Judgement | None:
    """What came of another that goes wrong alike, as far as is known; a memo may have it."""
    return None


def standing_for(other: Judgement | None, contract: Contract | None) -> dict[Any, Any]:
    """The memo of a submission that is tried only where another was wrong."""
    return {(contract, _other): other}


def judged(memo: Mapping[Any, Any], contract: Contract | None) -> Judgement | None:
    """What came of all situations, where a memo of what checks have seen has it."""
    found = memo.get((contract, _judge))
    return found if isinstance(found, Judgement) else None


def expect_right(harness: Harness, claim: str) -> None:
    """Fail the check by what its claim is told of the situations."""
    found = judgement(harness)
    if found is not None:
        _expect_right(found, claim)


def _expect_right(found: Judgement, claim: str) -> None:
    if claim in found.told:
        raise found.told[claim].with_traceback(None)
    if claim in found.skipped:
        pytest.skip(found.skipped[claim])


def implied(claim: Claim) -> Claim:
    """A claim that holds where every situation is right, and fails by what it is told of them.

    Only where something is wrong is it tried itself, to tell one mistake from another; not where
    the submission did not get through its situations, or there was no time for them.
    """

    @functools.wraps(claim)
    def check(harness: Harness) -> None:
        found, name = judgement(harness), claim.__name__
        if found is not None and (_is_unknown(found, name) or not found.told):
            return _expect_right(found, name)
        claim(harness)
        return expect_right(harness, name)

    check.looks_at_situations = True  # type: ignore[attr-defined]  # for the plugin
    return check


def try_situations(harness: Harness) -> None:
    """Try them now, so that what follows knows what takes how long; what fails, fails there."""
    with contextlib.suppress(SubmissionError, SubmissionRefused, WorkerEnded):
        judgement(harness)


def _is_unknown(found: Judgement, claim: str) -> bool:
    return claim in found.skipped or isinstance(found.told.get(claim), WorkerEnded)
