"""Which failed checks follow from mistakes that are known: those that fail where these are planted.

The solution is given the mistakes and takes the submission's place, in this process: the checks are
run on it with the same seed, so with the same inputs.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.attention.contract import AttentionContract
from grader.attention.planted import plant
from grader.diagnosis.catalogue import KnownMistake, Mistake
from grader.diagnosis.edits import EditMistake, edited
from grader.diagnosis.inside import OwnSandbox
from grader.diagnosis.replay import aside, module_of
from grader.records import CheckResult, Verdict
from grader.sandbox.session import Session
from grader.submission import Submission, read_submission
from grader.suite.contract import Contract
from grader.suite.runner import SuiteRunner
from grader.suite.situations.judging import Judgement
from grader.suite.situations.outcomes import Aspect

SECONDS = 60.0  # for a check, of which none is known that takes one
KEPT = 200  # results: with one seed, all who lose the same by the same mistakes are told the same
LOST = (Verdict.FAIL, Verdict.ERROR)

_known: dict[tuple[Any, ...], list[CheckResult]] = {}


def following(
    checks: Sequence[CheckResult],
    mistakes: Sequence[KnownMistake],
    runner: SuiteRunner,
    solution: Path,
    stop: threading.Event,
    seed: int,
    device: str,
) -> tuple[str, ...]:
    """The names of the failed checks that fail in the same way where these mistakes are planted.

    Args:
        checks: Of the submission.
        mistakes: That reproduce it.
        runner: Of its suite.
        solution: Of the exercise.
        stop: Of its sandbox: set, it ends this too.
        seed: Of the grading.
        device: Where the submission had its tensors.
    """
    lost = [check for check in checks if check.verdict in LOST]
    make = _planted(mistakes, read_submission(solution).source, runner.plugin.contract)
    if make is None:
        return ()
    names, planted = (tuple(one.name for one in some) for some in (lost, mistakes))
    key = (runner, seed, device, planted, names, _where_wrong(runner.plugin.judged))
    if key not in _known:
        if len(_known) >= KEPT:
            _known.clear()
        sandbox: Any = OwnSandbox(make, stop)
        none = Submission(Path("solution.py"), "")
        own = Session(sandbox, none, SECONDS, SECONDS, device=device)
        with aside():
            _known[key] = runner.run_again(own, seed, names)
    came = {check.name: check for check in _known[key]}
    return tuple(one.name for one in lost if _alike(one, came[one.name]))


def _where_wrong(judged: Judgement | None) -> tuple[Aspect | None, ...]:
    return tuple(one.aspect for one in judged.outcomes) if judged else ()


def _planted(
    mistakes: Sequence[KnownMistake], source: str, contract: Contract | None
) -> Callable[[], ModuleType] | None:
    """Makes the solution with these mistakes; None where they are of no one kind."""
    steps = [one for one in mistakes if isinstance(one, Mistake)]
    edits = [one for one in mistakes if isinstance(one, EditMistake)]
    if len(edits) == len(mistakes) and (text := edited(source, edits)) is not None:
        return partial(module_of, text)
    if len(steps) == len(mistakes) and isinstance(contract, AttentionContract):
        choices = {mistake.step: mistake.choice for mistake in steps}
        return partial(plant, source, contract, choices)
    return None


def _alike(one: CheckResult, other: CheckResult) -> bool:
    """Whether two checks failed by the same thing, whatever the numbers."""
    if one.verdict is not other.verdict:
        return False
    if one.fault is not None and other.fault is not None:
        return one.fault.type == other.fault.type
    return _claim_of(one) == _claim_of(other)


def _claim_of(check: CheckResult) -> str:
    first = check.message.partition("\n")[0].partition(" (line ")[0]
    return re.sub(r"[-+]?\d[\d.e+-]*|\b(nan|inf)\b", "#", first)
