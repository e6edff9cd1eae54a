"""The pytest plugin of a suite: fixtures, the clock of a check, verdicts."""

from __future__ import annotations

import contextlib
import inspect
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pytest

from grader.diagnosis.pipeline import Observation
from grader.records import AttentionMap, Verdict
from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.workers import WorkerEnded, WorkerTimeout
from grader.submission import SourceProblem
from grader.suite.compare import CheckFailed
from grader.suite.draw import Draw, derive_seed
from grader.suite.maps import attention_maps
from grader.suite.observe import observe
from grader.suite.subject import Subject
from grader.suite.trial import Trial

_T = TypeVar("_T")


class SuitePlugin:
    """Gives a suite's checks their submission, and notes what came of each.

    One plugin serves many submissions, one after the other: ``begin`` says which is next.
    """

    def __init__(self) -> None:
        self._submission: RemoteSubmission
        self._seed = 0
        self._device = "cpu"
        self._started = 0.0
        self._noted: dict[str, Any] = {}  # of the check that runs
        self._seen: dict[Any, Any] = {}  # by one check, for the others too
        self._subject: Subject | None = None  # of the suite, once a check has asked for a trial
        self.broken = ""  # why the suite itself cannot be collected

    def begin(self, submission: RemoteSubmission, seed: int, device: str) -> None:
        """Turn to another submission.

        Args:
            submission: What is being graded.
            seed: Of the whole grading.
            device: Where tensors are to lie, such as ``cpu`` or ``cuda``.
        """
        self._submission, self._seed, self._device = submission, seed, device
        self._seen, self._subject = {}, None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Silence pytest's own report; its options stay, other plugins read them."""
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why a suite cannot be collected."""
        if report.failed:
            self.broken = str(report.longrepr)[-4000:]

    def pytest_json_runtest_metadata(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> dict[str, Any]:
        """What came of a check, for pytest-json-report, once its last stage is over."""
        if call.when == "setup":
            marker = item.get_closest_marker("points")
            why = (inspect.getdoc(item.function) or "").partition("\n\n")[0]  # type: ignore[attr-defined]  # a function's item
            self._noted = {"points": marker.args[0] if marker else 1, "why": why}
        if call.excinfo is not None:
            self._noted |= _judge(call.excinfo.value)
        if call.when != "teardown":
            return {}
        output = self._submission.end_check(time.monotonic() - self._started)
        return self._noted | {"output": output}

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Run a check by the clock, in place of pytest, and judge what it raises.

        To pytest every check passes: formatting an exception would take it half a millisecond.
        """
        self._started = time.monotonic()
        try:
            self._submission.begin_check(self._seed_of(pyfuncitem, "worker"))
            wanted = inspect.signature(pyfuncitem.obj).parameters
            given = pyfuncitem.funcargs.items()  # `request` is among them, wanted or not
            pyfuncitem.obj(**{name: value for name, value in given if name in wanted})
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:
            self._noted |= _judge(error)
        return True

    @pytest.fixture
    def submission(self) -> RemoteSubmission:
        """The submission, in its worker."""
        return self._submission

    @pytest.fixture
    def device(self) -> str:
        """Where tensors are to lie."""
        return self._device

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """The check's random numbers."""
        return self._draw_of(request.node)

    @pytest.fixture
    def trial(self, request: pytest.FixtureRequest) -> Trial:
        """A try at the ``subject`` that the suite's module defines."""
        self._subject = request.node.module.subject
        return self._trial(self._draw_of(request.node))

    def _trial(self, draw: Draw) -> Trial:
        assert self._subject is not None
        return Trial(self._subject, self._submission, draw, self._device, self._seen)

    def observe(self) -> list[Observation]:
        """What the submission does, for a diagnosis; nothing where its suite has no subject.

        Raises:
            SubmissionError: It cannot be tried.
            WorkerEnded: It crashed, exited or took too long.
        """
        if self._subject is None or self._subject.form is None:
            return []
        return self._aside("diagnosis", observe)

    def maps(self) -> list[AttentionMap]:
        """What the submission attends to; nothing where its suite has no subject.

        Raises:
            SubmissionError: It cannot be tried.
            WorkerEnded: It crashed, exited or took too long.
            CheckFailed: Its output has another shape, or shows no weights.
        """
        return [] if self._subject is None else self._aside("maps", attention_maps)

    def _aside(self, purpose: str, look: Callable[[Trial], list[_T]]) -> list[_T]:
        """Look at a submission outside its checks, in the time that is left."""
        self._submission.begin_check(derive_seed(self._seed, f"{purpose}/worker"))
        started = time.monotonic()
        try:
            return look(
                self._trial(Draw(derive_seed(self._seed, f"{purpose}/inputs"), self._device))
            )
        finally:
            self._submission.end_check(time.monotonic() - started)

    def _draw_of(self, check: pytest.Item) -> Draw:
        return Draw(self._seed_of(check, "inputs"), self._device)

    def _seed_of(self, check: pytest.Item, purpose: str) -> int:
        return derive_seed(self._seed, f"{check.name}/{purpose}")


def _judge(error: BaseException) -> dict[str, Any]:
    """An exception that ended a check, as its verdict."""
    match error:
        case CheckFailed():
            noted = {"verdict": Verdict.FAIL, "message": str(error)}
            if error.difference is not None:
                noted["difference"] = msgspec.to_builtins(error.difference)
            return noted
        case SubmissionError():
            verdict = Verdict.TODO if error.todo else Verdict.ERROR
            fault = msgspec.to_builtins(error.fault)
            return {"verdict": verdict, "message": str(error), "fault": fault}
        case SubmissionRefused() | SourceProblem():
            return {"verdict": Verdict.ERROR, "message": str(error)}
        case WorkerTimeout():
            return {"verdict": Verdict.TIMEOUT, "message": f"the submission {error}"}
        case WorkerEnded():
            return {"verdict": Verdict.ERROR, "message": f"the submission {error}"}
        case pytest.skip.Exception():
            return {"verdict": Verdict.SKIP, "message": error.msg or ""}
    with contextlib.suppress(Exception):
        return {"broken": "".join(traceback.format_exception(error))[-4000:]}
    return {"broken": type(error).__name__}
