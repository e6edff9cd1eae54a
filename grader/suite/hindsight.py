"""Results of checks that are changed afterwards, by what only later checks show."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from grader.records import CheckResult, Verdict
from grader.suite.compare import CheckFailed
from grader.suite.situations.judging import Judgement


class Hindsight:
    """What is noted of the checks of one submission, and how it changes results in the end."""

    def __init__(self) -> None:
        self._early = set[str]()  # names of checks passed before the situations were judged
        self._rare = set[str]()  # names of checks that a few wrong situations alone have failed
        self._failed_by_itself = False  # whether values of a check's own have failed it

    def note_early_pass(self, check: str) -> None:
        """Note that a check was passed before anybody could know whether it proves anything."""
        self._early.add(check)

    def note_failure(
        self, check: str, ended: BaseException | None, found: Judgement | None
    ) -> None:
        """Note whether a few situations alone have failed a check, or values of its own.

        Args:
            check: Name of the check.
            ended: What the check raised; None if it passed.
            found: The judgement of the situations; None if there is none yet.
        """
        if not isinstance(ended, CheckFailed):
            return
        failures = found.failures if found else {}
        claims = {name for name, one in failures.items() if one is ended}
        if found and claims & found.rare:
            self._rare.add(check)
        elif not claims and ended.difference is not None:
            self._failed_by_itself = True

    def without_early_passes(self, results: list[CheckResult], why: str) -> list[CheckResult]:
        """Return results in which the early passes so far are failures, with a message."""
        early, self._early = self._early, set()
        return _changed(results, early, Verdict.FAIL, why)

    def without_rare_failures(self, results: list[CheckResult]) -> list[CheckResult]:
        """Return all results, with passes where a few situations alone had failed a check.

        That is only if another check failed by itself. Where a mistake shows in few situations,
        which check that costs is chance; those that fail at every seed say what it is.
        """
        return _changed(results, self._rare, Verdict.PASS) if self._failed_by_itself else results


def _changed(
    results: list[CheckResult], names: Container[str], verdict: Verdict, message: str = ""
) -> list[CheckResult]:
    return [
        replace(one, verdict=verdict, message=message, difference=None)
        if one.name in names
        else one
        for one in results
    ]
