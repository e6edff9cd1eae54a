"""Find what a report says of a failing submission: its mistakes, and what follows from them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import torch

from grader.attention.contract import AttentionContract
from grader.attention.following import checks_that_follow
from grader.attention.layout import WeightLayout
from grader.attention.observe import PARTIAL_VIEWS
from grader.attention.planted import plant_in
from grader.attention.search import Search
from grader.diagnosis.attach import (
    NONE_FOUND_CUT_SHORT,
    NOT_SEARCHED,
    cause_of,
    explain_exceptions,
    say_why_not,
)
from grader.diagnosis.beside import edits_beside
from grader.diagnosis.by_edits import EditExplainer
from grader.diagnosis.catalogue import Explanation, KnownMistake, Mistake
from grader.diagnosis.crashes import MAX_QUOTED_CHARS, explain_exception
from grader.diagnosis.nans import first_nan
from grader.diagnosis.replay import CheckExchanges
from grader.diagnosis.words import BEGINNING_MODULE, BEGINNING_WHERE_GIVEN, beside_others
from grader.kit import Exercise
from grader.records import Cause, CheckResult, Explain, Verdict
from grader.sandbox.errors import SubmissionError
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerEnded
from grader.suite.plugin import SuitePlugin
from grader.suite.runner import SuiteRunner, one_thread
from grader.wire.plain import one_line


@dataclass(frozen=True)
class DiagnosedChecks:
    """What a report says of failed checks.

    Attributes:
        checks: Results of the checks, with explanations of their exceptions.
        cause: Text on the mistake behind the failures; None where the report says nothing of it.
        mistakes: The sets of mistakes that reproduce the submission, if the report may name them.
        exchanges: What each check asked of the submission, with the answers.
    """

    checks: Sequence[CheckResult]
    cause: Cause | None = None
    mistakes: tuple[tuple[KnownMistake, ...], ...] = ()
    exchanges: Sequence[CheckExchanges] = ()

    def with_following(
        self,
        runner: SuiteRunner,
        exercise: Exercise,
        stop: threading.Event,
        seed: int,
        device: str,
    ) -> DiagnosedChecks:
        """Return a copy whose cause names the failed checks that its mistakes account for.

        Where others failed beside a mistake of the pipeline, an edit may account for them.
        """
        assert self.cause is not None
        where = (runner, exercise.solution, stop, seed, device)
        follows = checks_that_follow(self.checks, self.mistakes[0], *where)
        cause = replace(self.cause, follows=follows)
        if not self._more_may_be_found(follows):
            return DiagnosedChecks(self.checks, cause, self.mistakes)
        asked: dict[bool, list[CheckExchanges]] = {True: [], False: []}
        for check, exchanges in zip(self.checks, self.exchanges, strict=True):
            asked[check.name in follows].append(exchanges)
        lost = {check.name for check in self.checks if check.is_lost}
        files = (exercise.solution, exercise.mistakes)
        (done,), contract = self.mistakes[0], runner.plugin.contract
        assert isinstance(done, Mistake)
        assert isinstance(contract, AttentionContract)  # no other has a pipeline
        pipeline = partial(plant_in, contract=contract, choices={done.step: done.choice})
        found = edits_beside(*files, asked[True], asked[False], device, lost, pipeline)
        before = () if found.is_instead else self.mistakes[0]
        sets = tuple((*before, *edits) for edits in found.sets) or self.mistakes
        if found.sets:
            cause = cause_of(Explanation(sets, (), (), BEGINNING_MODULE), Explain.CAUSE)
        if found.planted or found.sets:
            planted = [*(found.planted or sets[0][:1]), *sets[0][1:]]
            again = checks_that_follow(self.checks, planted, *where)
            follows = max(follows, again, key=len)
        others = [check for check in self.checks if check.name not in follows]
        if not found.sets and any(check.difference is not None for check in others):
            cause = replace(cause, says=beside_others(cause.says))
        return DiagnosedChecks(self.checks, replace(cause, follows=follows), sets)

    def _more_may_be_found(self, follows: Collection[str]) -> bool:
        """Return whether one mistake of the pipeline leaves some failed checks unaccounted for."""
        return (
            len(self.mistakes) == len(self.mistakes[0]) == 1
            and isinstance(self.mistakes[0][0], Mistake)
            and any(
                check.verdict is Verdict.FAIL and check.name not in follows for check in self.checks
            )
        )


def diagnose(
    checks: Sequence[CheckResult],
    plugin: SuitePlugin,
    session: Session,
    exercise: Exercise,
    explain: Explain,
    max_tried: int | None,
) -> DiagnosedChecks:
    """Look for the cause of the failed checks, and return as much of it as the report may say.

    Args:
        checks: Results of the checks.
        plugin: Plugin of the suite.
        session: Session in which the submission was graded.
        exercise: Exercise that the submission is graded as.
        explain: How much to reveal.
        max_tried: Number of sets of mistakes to try at most; None for the usual number.
    """
    may_name_mistakes = explain is Explain.CAUSE
    if may_name_mistakes:
        checks = explain_exceptions(checks, session.source, lambda: session.budget.judging_is_over)
    if not any(check.verdict is Verdict.FAIL for check in checks):
        return DiagnosedChecks(checks)
    if session.budget.judging_is_over:
        return DiagnosedChecks(say_why_not(checks, NOT_SEARCHED))
    check_exchanges = [  # copied: the diagnosis adds requests of its own, and a session ends
        CheckExchanges([*exchanges], check.verdict is Verdict.PASS)
        for exchanges, check in zip(session.exchanges_by_check, checks, strict=True)
    ]
    with one_thread():
        search = _search_of_steps(plugin, session.device, max_tried)
        found = search.run(most=1)
        if any(found.sets) and found.unexplained:
            found = search.run()
        wants_more = not any(found.sets) or bool(found.unexplained)
        verdicts = [check.verdict for check in checks]
        mostly_raises = verdicts.count(Verdict.ERROR) > verdicts.count(Verdict.FAIL)
        nan = (
            _where_nan_begins(check_exchanges, session, exercise)
            if may_name_mistakes and wants_more and not mostly_raises
            else ""
        )
        if not any(found.sets):
            lost = {check.name for check in checks if check.verdict is not Verdict.PASS}
            edits = check_exchanges, session.device, lost
            found = _first_found(found, _further_searches(exercise, edits, search))
    if any(found.sets):
        if mostly_raises and not found.beginning:
            found = replace(found, beginning=BEGINNING_WHERE_GIVEN)
        cause = cause_of(found, explain)
        cause = replace(cause, says=f"{cause.says} {nan}".strip())
        named = found.sets if may_name_mistakes else ()
        return DiagnosedChecks(checks, cause, named, check_exchanges if named else ())
    if nan or found.note:
        return DiagnosedChecks(checks, Cause(nan or found.note))
    return DiagnosedChecks(
        say_why_not(checks, NONE_FOUND_CUT_SHORT) if found.is_cut_short else checks
    )


def _where_nan_begins(
    check_exchanges: Sequence[CheckExchanges], session: Session, exercise: Exercise
) -> str:
    """Return a sentence on the submission's line where NaN begins; empty if that is not known."""
    with suppress(SubmissionError, WorkerEnded):
        session.begin_check(0)
        fault = first_nan(check_exchanges, exercise.solution, exercise.mistakes, session)
        session.end_check()
        if fault is not None and (why := explain_exception(fault, session.source)):
            last = fault.frames[-1]
            code = session.submission.text_of(last.line).partition(" #")[0]
            text, name, line = one_line(code, MAX_QUOTED_CHARS), last.function, last.line
            told = not session.submission.cells  # a notebook has no such line numbers
            return f"NaN begins at `{text}` in `{name}`{f', line {line}' if told else ''}: {why}"
    return ""


def _further_searches(
    exercise: Exercise,
    edits: tuple[Sequence[CheckExchanges], str, Collection[str]],
    steps: Search,
) -> Iterator[Explanation]:
    """Search for edits of the solution and for larger sets of the pipeline's mistakes, in turn.

    The edits are those of the exercise, and of the one that a fix-it exercise is like; ``edits``
    are the last arguments of ``EditExplainer``, ``steps`` is the search among the pipeline's.
    """
    explainers = []
    for one in filter(None, (exercise, exercise.like)):
        explainers.append(EditExplainer(one.solution, one.mistakes, *edits))
        yield explainers[-1].run(in_pairs=False)
    yield steps.run()
    for explainer in explainers:
        yield explainer.run(in_pairs=True)


def _first_found(none: Explanation, searches: Iterable[Explanation]) -> Explanation:
    """Return the first explanation with a mistake; ``none`` where all searches end without."""
    for found in searches:
        if any(found.sets):
            return found
        none = replace(none, is_cut_short=none.is_cut_short or found.is_cut_short)
    return none


def _search_of_steps(plugin: SuitePlugin, device: str, max_tried: int | None) -> Search:
    """Return a search for the pipeline's mistakes, which finds none without a pipeline."""
    with suppress(RuntimeError):  # no memory on the GPU: what dropout draws there is not explained
        torch.ones(1, device=device).sum()  # the device starts up here, not in the search's time
    try:
        seen = plugin.observe()
    except (SubmissionError, WorkerEnded):
        seen = []
    layout = seen[-1].layout if seen else WeightLayout()
    return Search(layout, seen, PARTIAL_VIEWS, max_tried=max_tried)
