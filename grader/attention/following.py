"""Find the failed checks that follow from known mistakes of a submission.

The same mistakes are planted in the solution: its code is changed to make them. It then takes the
submission's place, in this process. The checks run on it with the same seed, and so with the same
inputs; a failed check follows from the mistakes if it fails here in the same way.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.attention.contract import AttentionContract
from grader.attention.planted import plant
from grader.diagnosis.catalogue import KnownMistake, Mistake
from grader.diagnosis.edits import EditMistake, Habit, edited
from grader.diagnosis.in_process import InProcessSandbox
from grader.diagnosis.replay import module_of, quiet_and_seeded
from grader.records import CheckResult, Verdict
from grader.sandbox.session import Session
from grader.submission import Submission, read_submission
from grader.suite.contract import Contract
from grader.suite.runner import SuiteRunner
from grader.suite.situations.judging import Judgement
from grader.suite.situations.outcomes import Aspect

CHECK_TIMEOUT_S = 60.0  # and budget of all checks; none is known to take even one second
MAX_CACHED_RESULTS = 200  # submissions that fail the same checks by the same mistakes share one
FAILED_VERDICTS = (Verdict.FAIL, Verdict.ERROR)

_cached_results: dict[tuple[Any, ...], list[CheckResult]] = {}


def checks_that_follow(
    checks: Sequence[CheckResult],
    mistakes: Sequence[KnownMistake | Habit],
    runner: SuiteRunner,
    solution: Path,
    stop: threading.Event,
    seed: int,
    device: str,
) -> tuple[str, ...]:
    """Return the names of failed checks that fail alike on the solution with the mistakes planted.

    Args:
        checks: Results of the submission's checks.
        mistakes: Mistakes, and the habits beside them, that reproduce what the submission computes.
        runner: Runner of the exercise's suite.
        solution: File of the exercise's solution.
        stop: Event of the submission's sandbox; once set, it ends this run as well.
        seed: Seed of the grading.
        device: Device on which the submission had its tensors.
    """
    lost = [check for check in checks if check.verdict in FAILED_VERDICTS]
    make = _module_maker(mistakes, read_submission(solution).source, runner.plugin.contract)
    if make is None:
        return ()
    names, planted = (tuple(one.name for one in some) for some in (lost, mistakes))
    key = (runner, seed, device, planted, names, _where_wrong(runner.plugin.judged))
    if key not in _cached_results:
        if len(_cached_results) >= MAX_CACHED_RESULTS:
            _cached_results.clear()
        none = Submission(Path("solution.py"), "")
        own = Session(
            InProcessSandbox(make, stop), none, CHECK_TIMEOUT_S, CHECK_TIMEOUT_S, device=device
        )
        with quiet_and_seeded(), closing(own):
            _cached_results[key] = runner.run_again(own, seed, names)
    planted_results = {check.name: check for check in _cached_results[key]}
    return tuple(one.name for one in lost if _failed_alike(one, planted_results[one.name]))


def _where_wrong(judged: Judgement | None) -> tuple[Aspect | None, ...]:
    return tuple(one.aspect for one in judged.outcomes) if judged else ()


def _module_maker(
    mistakes: Sequence[KnownMistake | Habit], source: str, contract: Contract | None
) -> Callable[[], ModuleType] | None:
    """Return a function that makes a module of the solution with these mistakes.

    The result is None if the mistakes cannot all be planted in the solution.
    """
    steps = [one for one in mistakes if isinstance(one, Mistake)]
    edits = [one for one in mistakes if isinstance(one, EditMistake | Habit)]
    text = edited(source, edits)
    if text is not None and not steps:
        return partial(module_of, text)
    if text is not None and isinstance(contract, AttentionContract):
        choices = {mistake.step: mistake.choice for mistake in steps}
        return partial(plant, text, contract, choices)
    return None


def _failed_alike(one: CheckResult, other: CheckResult) -> bool:
    """Return whether two checks failed in the same way, whatever numbers their messages hold."""
    if one.verdict is not other.verdict:
        return False
    if one.fault is not None and other.fault is not None:
        return one.fault.type == other.fault.type
    if one.difference is not None and other.difference is not None:
        mine, its = one.difference, other.difference
        if (mine.name, mine.total) != (its.name, its.total):
            return False  # the check has got further in one of them than in the other
    return _claim_of(one) == _claim_of(other)


def _claim_of(check: CheckResult) -> str:
    first = check.message.partition("\n")[0].partition(" (line ")[0]
    return re.sub(r"[-+]?\d[\d.e+-]*|\b(nan|inf)\b", "#", first)
