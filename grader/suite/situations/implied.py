"""Claims that hold where every situation is right."""

from __future__ import annotations

import functools
from collections.abc import Callable

from grader.suite.harness import Harness
from grader.suite.situations.judging import Judgement
from grader.suite.situations.trial import judge_situations

Claim = Callable[[Harness], None]


def judgement(harness: Harness) -> Judgement | None:
    """What came of all situations, once for all checks; None where the contract has none."""
    return harness.shared(_judge)


def _judge(harness: Harness) -> Judgement | None:
    contract = harness.contract
    return judge_situations(harness) if contract.has_situations else None


def expect_right(harness: Harness, claim: str) -> None:
    """Fail the check by what its claim is told of the situations."""
    found = judgement(harness)
    reason = None if found is None else found.told.get(claim)
    if reason is not None:
        raise reason.with_traceback(None)


def implied(claim: Claim) -> Claim:
    """A claim that holds where every situation is right, and fails by what it is told of them.

    Only where something is wrong is it tried itself, to tell one mistake from another.
    """

    @functools.wraps(claim)
    def check(harness: Harness) -> None:
        found = judgement(harness)
        if found is not None and not found.told:
            return
        claim(harness)
        expect_right(harness, claim.__name__)

    return check
