"""Claims that are known to hold once the submission is right in every situation."""

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
    """Return the judgement on all situations, made once for all checks; None if there are none."""
    return harness.shared(_judge)


def _judge(harness: Harness) -> Judgement | None:
    if not harness.contract.has_situations:
        return None
    other, is_one_enough = harness.shared(_how_to_try)
    if other is not None:
        return judge_where_wrong(harness, other)
    return judge_situations(harness, is_one_enough)


def _how_to_try(_: Harness) -> tuple[Judgement | None, bool]:
    """Return how all situations are tried, unless ``initial_memo`` has put another way there."""
    return None, False


def initial_memo(
    other: Judgement | None, contract: Contract | None, is_one_enough: bool = False
) -> dict[Any, Any]:
    """Return the first content of a memo, the cache of what is observed of a submission.

    Args:
        other: Judgement on another submission: only where that was wrong, this one is to be tried.
            None to try it in all situations.
        contract: Contract of the suite.
        is_one_enough: Whether to try no more situations once one is wrong.
    """
    return {(contract, _how_to_try): (other, is_one_enough)}


def judgement_in_memo(memo: Mapping[Any, Any], contract: Contract | None) -> Judgement | None:
    """Return the judgement on all situations from a memo; None if the memo has none."""
    found = memo.get((contract, _judge))
    return found if isinstance(found, Judgement) else None


def tried_contracts(memo: Mapping[Any, Any]) -> list[Contract]:
    """Return the contracts in whose situations a submission was tried, from a memo."""
    return [key[0] for key, found in memo.items() if key[1:] == (_judge,) and found]


def expect_right(harness: Harness, claim: str) -> None:
    """Fail or skip the check if the situations showed that its claim fails or cannot be checked."""
    found = judgement(harness)
    if found is not None:
        _expect_right(found, claim)


def _expect_right(found: Judgement, claim: str) -> None:
    if claim in found.failures:
        raise found.failures[claim].with_traceback(None)
    if claim in found.skipped:
        pytest.skip(found.skipped[claim])


def backed_by_situations(claim: Claim) -> Claim:
    """Decorate a claim so that it holds without being run if every situation is right.

    If one is wrong, or there are none, the claim itself is run, to tell one mistake from another.
    If it passes, the judgement may still fail it. It is not run if the submission did not get
    through its situations, or if there was no time for them.
    """

    @functools.wraps(claim)
    def check(harness: Harness) -> None:
        found, name = judgement(harness), claim.__name__
        if found is not None and (_is_unknown(found, name) or not found.failures):
            return _expect_right(found, name)
        claim(harness)
        return expect_right(harness, name)

    check.looks_at_situations = True  # type: ignore[attr-defined]  # for the plugin
    return check


def try_situations(harness: Harness) -> None:
    """Try all situations now, to learn the submission's speed; the checks report what fails."""
    with contextlib.suppress(SubmissionError, SubmissionRefused, WorkerEnded):
        judgement(harness)


def _is_unknown(found: Judgement, claim: str) -> bool:
    return claim in found.skipped or isinstance(found.failures.get(claim), WorkerEnded)
