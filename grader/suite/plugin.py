"""The pytest plugin of a suite: fixtures, the clock of each check, its result."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest

from grader.errors import GradeError, GraderFault, MachineBusy, TakesLong
from grader.records import AttentionMap, CheckResult, OwnTry
from grader.records.progress import OnProgress, Progress
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.session import Session
from grader.sandbox.workers import NotTried, WorkerTimeout
from grader.suite.case import Case, first_case
from grader.suite.collected import CollectedSuite
from grader.suite.compare import CheckFailed, Comparison, computed_on
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.hindsight import Hindsight
from grader.suite.idle import why_idle
from grader.suite.own_try import try_on
from grader.suite.situations.covering import arrays_of
from grader.suite.situations.implied import (
    initial_memo,
    judgement_in_memo,
    tried_contracts,
    try_situations,
)
from grader.suite.situations.judging import Judgement
from grader.suite.situations.places import model_of
from grader.suite.verdicts import verdict_on

MIN_WRONG_SHARE = 0.2  # of the situations; a submission wrong in fewer surely does some work

_T = TypeVar("_T")


class SuitePlugin:
    """A pytest plugin that gives a suite's checks their submission and records the results.

    One plugin serves many submissions in turn; ``begin`` sets the next one.
    """

    def __init__(self) -> None:
        self._session: Session
        self._seed = 0
        self._seconds = 0.0  # taken by the running check so far
        self._ended: BaseException | None = None  # raised by the running check
        self._memo: dict[Any, Any] = {}  # observations that the checks share
        self.tried: list[Contract] = []  # contracts whose situations the last submission was in
        self._suite = CollectedSuite()
        self._hindsight = Hindsight()
        self._progress: OnProgress | None = None
        self.results: list[CheckResult] = []
        self.failed_comparisons: list[tuple[str, Comparison]] = []  # each after its check's name
        self.must_rerun = False  # whether the check that just ran is to be run once more
        self.fault: GradeError | None = None  # why grading failed: a broken check, or the machine

    def begin(
        self,
        session: Session,
        seed: int,
        progress: OnProgress | None = None,
        stands_for: Judgement | None = None,
        is_one_enough: bool = False,
    ) -> None:
        """Start on another submission.

        Args:
            session: Session of the submission.
            seed: Seed of the whole grading.
            progress: Called after each check, and after each request that tries situations.
            stands_for: Judgement of another submission, which this one stands in for: this one is
                tried only in situations where the other was wrong. None to try it in all.
            is_one_enough: Whether to try no more situations once one is wrong.
        """
        self._session, self._seed = session, seed
        self._progress = progress
        self._memo = initial_memo(stands_for, self.contract, is_one_enough)
        self.results, self.failed_comparisons = [], []
        self.fault, self.must_rerun = None, False
        self._hindsight = Hindsight()

    @property
    def contract(self) -> Contract | None:
        """The suite's contract, if it has one."""
        return self._suite.contract

    @property
    def broken(self) -> str:
        """Why the suite cannot be run; empty if it can."""
        return self._suite.broken

    @property
    def judged(self) -> Judgement | None:
        """The judgement of the submission's situations; None if it was not tried in any."""
        return judgement_in_memo(self._memo, self.contract)

    def let_go(self) -> None:
        """Drop the submission's data: it may be large, and the suite stays in memory for others."""
        self.tried = tried_contracts(self._memo)
        self._memo, self.results, self.failed_comparisons = {}, [], []
        self._ended = self.fault = None  # their tracebacks keep all requests alive
        self._progress = None
        del self._session

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Silence pytest's own report, but keep its options: other plugins read them."""
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record why the suite cannot be collected, if it cannot."""
        if report.failed:
            self._suite = CollectedSuite(broken=str(report.longrepr)[-4000:])

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Record what the suite has; of a broken one, no check is run."""
        if not self.broken:
            self._suite = CollectedSuite.of(items)
        if self.broken:
            items.clear()
        elif self.contract is not None and self.contract.has_situations:
            for one in (self.contract, *self.contract.part_contracts):
                arrays_of(model_of(one))  # may take seconds, which no check is to be charged

    def pytest_runtest_makereport(self, item: pytest.Function, call: pytest.CallInfo[None]) -> None:
        """Record how a stage of a check ended and, after the last stage, the check's result."""
        if call.when == "setup":
            self._ended, self._seconds = None, 0.0
        if call.excinfo is not None:
            self._ended = call.excinfo.value
        if call.when != "teardown":
            self._seconds += call.duration
            return
        output = self._session.end_check()
        if self._session.budget.is_late:
            self.fault = TakesLong()
            return
        if isinstance(self._ended, MachineBusy) and not self.must_rerun:
            self.must_rerun = True
            self._session.give_up_check()
            return
        self.must_rerun = False
        try:
            self.results.append(self._result(item, output))
        except GraderFault as fault:
            self.fault = self.fault or fault
        self._hindsight.note_failure(item.name, self._ended, self.judged)
        if len(self.results) == self._suite.count:
            self.results = self._hindsight.without_rare_failures(self.results)
        if self._progress is not None:
            self._progress(Progress("checks", len(self.results), self._suite.count))

    def _result(self, item: pytest.Function, output: str) -> CheckResult:
        if isinstance(self._ended, CheckFailed) and self._ended.comparison is not None:
            self.failed_comparisons.append((item.name, self._ended.comparison))
        marker = item.get_closest_marker("points")
        verdict, message, difference, fault = verdict_on(item.name, self._ended)
        if isinstance(self._ended, WorkerTimeout) and not isinstance(self._ended, NotTried):
            limit = self._session.clock.seconds
            if not self._ended.where:  # else the message has place and limit already
                message += self._session.whereabouts
                message += f": it had {limit:.3g} s"
        return CheckResult(
            name=item.name,
            verdict=verdict,
            points=marker.args[0] if marker else 1,
            why=(inspect.getdoc(item.function) or "").partition("\n\n")[0],
            message=message,
            difference=difference,
            fault=fault,
            output=output,
            seconds=round(max(0.0, self._seconds - self._session.phase_s), 4),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Run a check under its clock, in pytest's place, and keep the exception that it raises.

        For pytest every check passes: to format an exception would take it half a millisecond.
        """
        try:
            self._session.begin_check(self._seed_of(pyfuncitem, "worker"))
            wanted = inspect.signature(pyfuncitem.obj).parameters
            given = pyfuncitem.funcargs.items()  # `request` is included even if not wanted
            with computed_on(self._session.device):
                if self._knows_the_form:
                    try_situations(self._harness(self._draw_of(pyfuncitem)))
                before = len(self._session.exchanges)
                pyfuncitem.obj(**{name: value for name, value in given if name in wanted})
                asked = self._session.exchanges[before:]
                if not asked or any(one.computes for one in asked):
                    self._expect_work(pyfuncitem.name)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:
            self._ended = error
        return True

    def _expect_work(self, check: str) -> None:
        """Fail a check that a submission passed without doing any work.

        That batch items are independent, for example, also holds for an output of zeros. Checks
        that passed before the situations were judged are failed as well.
        """
        found = self.judged
        if found is None:
            self._hindsight.note_early_pass(check)
        if found is None or len(found.wrong) < MIN_WRONG_SHARE * len(found.outcomes):
            return
        harness = self._harness(Draw(derive_seed(self._seed, "idle/inputs")))
        why, asked = "", len(self._session.exchanges)
        with contextlib.suppress(SubmissionError, SubmissionRefused, CheckFailed, RuntimeError):
            why = harness.shared(why_idle)
        del self._session.exchanges[asked:]  # a diagnosis is to see only what the check asked
        if why:
            proves = f"this holds, and proves nothing: {why}"
            self.results = self._hindsight.without_early_passes(self.results, proves)
            raise CheckFailed(proves)

    @property
    def _knows_the_form(self) -> bool:
        """Whether situations can be tried: the checks of the parameters, if any, are over."""
        finished = {one.name for one in self.results}
        return self._suite.looks_at_situations and not self._suite.form_checks - finished

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """Return the check's source of random numbers."""
        return self._draw_of(request.node)

    @pytest.fixture
    def harness(self, request: pytest.FixtureRequest) -> Harness:
        """Return a harness for the ``contract`` that the suite's module defines."""
        return self._harness(self._draw_of(request.node))

    def _harness(self, draw: Draw) -> Harness:
        if self.contract is None:
            raise GraderFault("the suite defines no `contract`")
        return Harness(
            *(self.contract, self._session, draw),
            *(self._memo, self._suite.claims, self._seed),
            progress=self._progress,
        )

    def first_case(self, solution: str) -> Case | None:
        """Return the first failed comparison that can be repeated; see ``case.first_case``."""
        inputs = () if self.contract is None else tuple(self.contract.inputs)
        return first_case(
            self.failed_comparisons, self._session.exchanges_by_check, solution, inputs
        )

    def observe(self) -> list[Any]:
        """Observe the submission for a diagnosis; return nothing if the suite has no contract.

        Raises:
            SubmissionError: The submission cannot be tried.
            WorkerEnded: The worker crashed, exited or took too long.
        """
        contract = self.contract
        return [] if contract is None else self._aside("diagnosis", contract.observe)

    def maps(self) -> list[AttentionMap]:
        """Return the submission's attention maps; none if the suite has no contract.

        Raises:
            SubmissionError: The submission cannot be tried.
            WorkerEnded: The worker crashed, exited or took too long.
            CheckFailed: The output has a wrong shape, or no weights can be recovered from it.
        """
        return [] if self.contract is None else self._aside("maps", self.contract.maps)

    def try_on(self, own: Mapping[str, Any], sizes: Mapping[str, int]) -> OwnTry:
        """Run the submission on inputs that the user chose; see ``own_try.try_on``."""
        if self.contract is None:
            raise GradeError("its suite has no contract: nothing says what is right elsewhere")
        return self._aside("own try", lambda harness: try_on(harness, own, sizes))

    def _aside(self, purpose: str, look: Callable[[Harness], _T]) -> _T:
        """Run ``look`` on the submission outside its checks, within the time that is left."""
        self._session.begin_check(derive_seed(self._seed, f"{purpose}/worker"))
        try:
            draw = Draw(derive_seed(self._seed, f"{purpose}/inputs"))
            return look(self._harness(draw))
        finally:
            self._session.end_check()

    def _draw_of(self, check: pytest.Item) -> Draw:
        return Draw(self._seed_of(check, "inputs"))

    def _seed_of(self, check: pytest.Item, purpose: str) -> int:
        return derive_seed(self._seed, f"{check.name}/{purpose}")
