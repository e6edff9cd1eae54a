"""The pytest plugin of a suite: fixtures, the clock of a check."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pytest

from grader.errors import GradeError, GraderFault, MachineBusy, TakesLong
from grader.records import AttentionMap, CheckResult, OwnTry, Verdict
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.sandbox.session import Session
from grader.sandbox.workers import NotTried, WorkerTimeout
from grader.suite.case import Case, first_case
from grader.suite.compare import CheckFailed, Comparison, computed_on
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.idle import idle
from grader.suite.marks import unmet
from grader.suite.own_try import try_on
from grader.suite.situations.covering import arrays_of
from grader.suite.situations.implied import judged, standing_for, try_situations
from grader.suite.situations.judging import Judgement
from grader.suite.situations.places import model_of
from grader.suite.verdicts import verdict_on

MUCH = 0.3  # of the situations: who is wrong in fewer of them does something

_T = TypeVar("_T")


class SuitePlugin:
    """Gives a suite's checks their submission, and notes what came of each.

    One plugin serves many submissions, one after the other: ``begin`` says which is next.
    """

    def __init__(self) -> None:
        self._session: Session
        self._seed = 0
        self._seconds = 0.0  # of the check that runs
        self._ended: BaseException | None = None  # what it raised
        self._memo: dict[Any, Any] = {}  # what one check saw, for the others too
        self._contract: Contract | None = None
        self._claims: frozenset[str] = frozenset()
        self._of_form: set[str] = set()  # names of the checks that tell what a module is like
        self._looks_at_situations = False
        self._early = set[str]()  # checks passed before it is known whether anything is wrong
        self._count = 0  # of checks
        self._progress: Callable[[int, int], object] | None = None
        self.results: list[CheckResult] = []
        self.compared: list[tuple[str, Comparison]] = []  # and differed, by check
        self.again = False  # the check that just ran is to be tried once more
        self.fault: GradeError | None = None  # of a check itself, or of the machine
        self.broken = ""  # why the suite itself cannot be run

    @property
    def contract(self) -> Contract | None:
        """Of the suite, where it has one."""
        return self._contract

    def begin(
        self,
        session: Session,
        seed: int,
        progress: Callable[[int, int], object] | None = None,
        stands_for: Judgement | None = None,
    ) -> None:
        """Turn to another submission.

        Args:
            session: Of what is being graded.
            seed: Of the whole grading.
            progress: Is told after each check how many are done, and of how many.
            stands_for: What came of the situations of a submission that it stands for: it is tried
                only where that is wrong.
        """
        self._session, self._seed = session, seed
        self._progress = progress
        self._memo = standing_for(stands_for, self._contract)
        self.results, self.compared = [], []
        self.fault, self.again = None, False
        self._early = set()

    @property
    def judged(self) -> Judgement | None:
        """What came of the situations that the submission was tried in, if it was."""
        return judged(self._memo, self._contract)

    def let_go(self) -> None:
        """Forget the submission: what came of it may be large, and a suite waits for the next."""
        self._memo, self.results, self.compared = {}, [], []
        self._ended = self.fault = None  # whose traceback holds all that was asked
        self._progress = None
        del self._session

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Silence pytest's own report; its options stay, other plugins read them."""
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why a suite cannot be collected."""
        if report.failed:
            self.broken = str(report.longrepr)[-4000:]

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Note the suite's contract and claims, and whether it can serve every check."""
        self._count = len(items)
        self._claims = frozenset(item.function.__name__ for item in items)
        self._of_form = {i.name for i in items if i.function.__name__ == "has_its_parameters"}
        self._looks_at_situations = any(hasattr(i.function, "looks_at_situations") for i in items)
        for item in items:
            contract = getattr(item.module, "contract", None)
            if isinstance(contract, Contract):
                self._contract = contract
                if lacking := unmet(item.function, contract):
                    self.broken = f"`{item.name}` {lacking}, which `{contract.entry}` has not"
        if self.broken:
            items.clear()
        elif self._contract is not None and self._contract.has_situations:
            for one in (self._contract, *self._contract.inside):
                arrays_of(model_of(one))  # may take seconds: not of a check's time

    def pytest_runtest_makereport(self, item: pytest.Function, call: pytest.CallInfo[None]) -> None:
        """Note what came of a stage of a check; of the whole, once its last stage is over."""
        if call.when == "setup":
            self._ended, self._seconds = None, 0.0
        if call.excinfo is not None:
            self._ended = call.excinfo.value
        if call.when != "teardown":
            self._seconds += call.duration
            return
        output = self._session.end_check()
        if self._session.is_late:
            self.fault = TakesLong()
            return
        if isinstance(self._ended, MachineBusy) and not self.again:
            self.again = True
            self._session.give_up_check()
            return
        self.again = False
        try:
            self.results.append(self._result(item, output))
        except GraderFault as fault:
            self.fault = self.fault or fault
        if self._progress is not None:
            self._progress(len(self.results), self._count)

    def _result(self, item: pytest.Function, output: str) -> CheckResult:
        if isinstance(self._ended, CheckFailed) and self._ended.comparison is not None:
            self.compared.append((item.name, self._ended.comparison))
        marker = item.get_closest_marker("points")
        verdict, message, difference, fault = verdict_on(item.name, self._ended)
        if isinstance(self._ended, WorkerTimeout) and not isinstance(self._ended, NotTried):
            limit = self._session.clock.seconds
            if not self._ended.where:  # else it says so already
                message += self._session.whereabouts
                message += f": it had {limit:.3g} s; `--timeout SECONDS` gives a check more"
        return CheckResult(
            name=item.name,
            verdict=verdict,
            points=marker.args[0] if marker else 1,
            why=(inspect.getdoc(item.function) or "").partition("\n\n")[0],
            message=message,
            difference=difference,
            fault=fault,
            output=output,
            seconds=round(self._seconds, 4),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Run a check by the clock, in place of pytest, and judge what it raises.

        To pytest every check passes: formatting an exception would take it half a millisecond.
        """
        try:
            self._session.begin_check(self._seed_of(pyfuncitem, "worker"))
            wanted = inspect.signature(pyfuncitem.obj).parameters
            given = pyfuncitem.funcargs.items()  # `request` is among them, wanted or not
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
        """Fail what holds of whatever does nothing too, such as that sequences are apart.

        What was passed before it is known that something is wrong fails once it is.
        """
        found = self.judged
        if found is None:
            self._early.add(check)
        if found is None or len(found.wrong) < MUCH * len(found.outcomes):
            return
        harness = self._harness(Draw(derive_seed(self._seed, "idle/inputs")))
        why, asked = "", len(self._session.exchanges)
        with contextlib.suppress(SubmissionError, SubmissionRefused, CheckFailed, RuntimeError):
            why = harness.shared(idle)
        del self._session.exchanges[asked:]  # a diagnosis has what the check asked
        if why:
            proves = f"this holds, and proves nothing: {why}"
            failed = partial(replace, verdict=Verdict.FAIL, message=proves)
            early, self._early = self._early, set()
            self.results = [failed(one) if one.name in early else one for one in self.results]
            raise CheckFailed(proves)

    @property
    def _knows_the_form(self) -> bool:
        """Whether situations can be tried: it is known what is to be made up for in a module."""
        told = {one.name for one in self.results}
        return self._looks_at_situations and not self._of_form - told

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """The check's random numbers."""
        return self._draw_of(request.node)

    @pytest.fixture
    def harness(self, request: pytest.FixtureRequest) -> Harness:
        """A try at the ``contract`` that the suite's module defines."""
        return self._harness(self._draw_of(request.node))

    def _harness(self, draw: Draw) -> Harness:
        if self._contract is None:
            raise GraderFault("the suite defines no `contract`")
        return Harness(
            *(self._contract, self._session, draw),
            *(self._memo, self._claims, self._seed),
        )

    def first_case(self, solution: str) -> Case | None:
        """The first comparison that failed and can be made again, with a source of ours."""
        inputs = () if self._contract is None else tuple(self._contract.inputs)
        return first_case(self.compared, self._session.asked, solution, inputs)

    def observe(self) -> list[Any]:
        """What the submission does, for a diagnosis; nothing where its suite has no contract.

        Raises:
            SubmissionError: It cannot be tried.
            WorkerEnded: It crashed, exited or took too long.
        """
        contract = self._contract
        return [] if contract is None else self._aside("diagnosis", contract.observe)

    def maps(self) -> list[AttentionMap]:
        """What the submission attends to; nothing where its suite has no contract.

        Raises:
            SubmissionError: It cannot be tried.
            WorkerEnded: It crashed, exited or took too long.
            CheckFailed: Its output has another shape, or shows no weights.
        """
        return [] if self._contract is None else self._aside("maps", self._contract.maps)

    def try_on(self, own: Mapping[str, Any], sizes: Mapping[str, int]) -> OwnTry:
        """What the submission gives for inputs of one's own; as ``own_try`` has it."""
        if self._contract is None:
            raise GradeError("its suite has no contract: nothing says what is right elsewhere")
        return self._aside("own try", lambda harness: try_on(harness, own, sizes))

    def _aside(self, purpose: str, look: Callable[[Harness], _T]) -> _T:
        """Look at a submission outside its checks, in the time that is left."""
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
