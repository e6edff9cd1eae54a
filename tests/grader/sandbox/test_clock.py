"""What a check may take is counted in what its worker takes, however busy the machine is.

Neighbours are real: busy loops on the one core that a worker is put on.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from grader.errors import MachineBusy
from grader.grading import Options, grade
from grader.kit import Kit
from grader.records import Report, Verdict
from grader.sandbox import clock as clocks
from grader.sandbox.clock import IDLE_S_PER_CPU_S, POLL_INTERVAL_S, Clock
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerProcess, WorkerTimeout
from grader.submission import Submission
from grader.wire.messages import Arguments, Call, Load, Request, Step

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the trusted side")
NEIGHBOURS = 8
TAKES = """
import time

def double(x):
    began = time.process_time()
    while time.process_time() - began < {}:
        pass
    return 2 * x
"""
SLEEPS = "import time\ndef double(x):\n    time.sleep(600)\n"
MEMBARRIER = "import ctypes\ndef double(x):\n    while 1: ctypes.CDLL(None).syscall(324, 1, 0, 0)\n"
THREADS = """
import hashlib, threading

def burn():
    while True:
        hashlib.sha256(bytes(1 << 20))  # without the interpreter's lock

def double(x):
    for _ in range(4):
        threading.Thread(target=burn, daemon=True).start()
    threading.Event().wait()
"""
CHILD = """
import os

def double(x):
    if os.fork() == 0:
        while True:
            pass
    os.wait()
"""


@contextmanager
def busy_core() -> Iterator[int]:
    """A core with so many neighbours on it that whoever comes gets a ninth of it."""
    core = min(os.sched_getaffinity(0))
    code = (  # ends with this process, also where that is killed
        f"import os\nos.sched_setaffinity(0, [{core}])\nparent = os.getppid()\nprint(flush=True)\n"
        "while os.getppid() == parent: pass"
    )
    words = [sys.executable, "-S", "-c", code]
    neighbours = [  # each in a session of its own: Linux may share a core by sessions
        subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(NEIGHBOURS)
    ]
    try:
        for one in neighbours:
            assert one.stdout is not None
            one.stdout.readline()
        yield core
    finally:
        for one in neighbours:
            one.kill()
            one.communicate()


@contextmanager
def crowded(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, count: int) -> Iterator[None]:
    """So many of the workers to come are put on a busy core."""
    given, left = sandbox.worker, [count]

    def worker() -> WorkerProcess:
        made = given()
        left[0] -= 1
        if left[0] >= 0:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(made._process.pid, [core])
        return made

    with busy_core() as core, monkeypatch.context() as patched:
        patched.setattr(sandbox, "worker", worker)
        yield


def graded(source: str, kit: Kit, sandbox: Sandbox, timeout: float = 1.0) -> Report:
    options = Options(seed=1, device="cpu", timeout=timeout)
    return grade(Submission(Path("double.py"), source), kit.find("double"), options, sandbox)


def asked(source: str, sandbox: Sandbox, seconds: float) -> Clock:
    """The clock of a call that never comes back."""
    worker, clock = sandbox.worker(), Clock(seconds)
    nothing = Arguments({"tuple": [1]}, {"dict": {}})
    worker.send(Request([Step(Load(source, "double.py")), Step(Call("double", [nothing]))]), clock)
    with pytest.raises(WorkerTimeout):
        worker.receive(clock)
    return clock


@pytest.mark.slow("needs a machine that is busy for a while")
def test_a_right_answer_with_busy_neighbours_keeps_every_point(
    kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crowded(sandbox, monkeypatch, 99):
        report = graded(TAKES.format(0.4), kit, sandbox)
    assert report.solved, report
    assert max(check.seconds for check in report.checks) > 1.0  # by the wall


@pytest.mark.slow("needs a machine that is busy for a while")
def test_time_in_which_the_grader_itself_was_stopped_is_nobodys(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-Z: the worker is done long before anybody looks."""
    worker, clock = sandbox.worker(), Clock(1.0)
    waits: list[float] = []

    def stopped(*arguments: Any) -> Any:
        found = wait(*arguments)
        waits.append(time.monotonic())
        time.sleep(1.0)
        return found

    wait = select.select
    monkeypatch.setattr(select, "select", stopped)
    nothing = Arguments({"tuple": [1]}, {"dict": {}})
    call = Step(Call("double", [nothing]))
    source = "def double(x):\n    return 2 * x\n"
    for steps in ([Step(Load(source, "double.py"))], [call], [call], [call]):
        worker.send(Request(steps), clock)
        worker.receive(clock)
    worker.kill()
    assert len(waits) >= 4
    assert clock.idle <= len(waits) * POLL_INTERVAL_S


@pytest.mark.slow("needs a machine that is busy for a while")
def test_budget_does_not_depend_on_neighbours(
    kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three checks of 0.3 s where six are given: by the wall, none was left for the last."""
    with crowded(sandbox, monkeypatch, 99):
        report = graded(TAKES.format(0.3), kit, sandbox, timeout=0.5)
    assert [check.verdict for check in report.checks] == [Verdict.PASS] * 3, report


@pytest.mark.slow("sleeps")
@pytest.mark.parametrize("source", [SLEEPS, MEMBARRIER], ids=["sleeps", "blocked"])
def test_what_sleeps_ends_and_is_to_blame(
    source: str, kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "MIN_PRESSURE_PERCENT", 101.0)  # no disk makes anything wait
    report = graded(source, kit, sandbox, timeout=0.3)
    assert {check.verdict for check in report.checks} == {Verdict.TIMEOUT}
    clock = asked(source, sandbox, 0.5)
    assert clock.idle > IDLE_S_PER_CPU_S * (0.5 - clock.processor) - 0.2
    assert clock.waited < clocks.MAX_WALL_S_PER_LIMIT_S * 0.5 / 2


@pytest.mark.slow("takes up what there is of time")
@pytest.mark.parametrize(("source", "level"), [(THREADS, "auto"), (CHILD, "process")])
def test_threads_and_children_count(source: str, level: str) -> None:
    with Sandbox(level) as own:
        assert own.isolation
        clock = asked(source, own, 1.0)
    assert clock.processor > 0.7  # while the first thread sleeps


@pytest.mark.slow("needs a machine that is busy for a while")
def test_check_that_the_machine_had_no_time_for_is_tried_again(
    kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.sandbox.budget.MAX_WALL_S_PER_LIMIT_S", 3)
    give_up, given_up = Session.give_up_check, []

    def noted(session: Session) -> None:
        given_up.append(give_up(session))
        monkeypatch.setattr(
            "grader.sandbox.budget.MAX_WALL_S_PER_LIMIT_S", clocks.MAX_WALL_S_PER_LIMIT_S
        )

    monkeypatch.setattr(Session, "give_up_check", noted)
    with crowded(sandbox, monkeypatch, 1):
        report = graded(TAKES.format(0.45), kit, sandbox, timeout=0.6)
    assert len(given_up) == 1
    assert report.solved, report
    assert len(report.checks) == 3


@pytest.mark.slow("needs a machine that is busy for a while")
def test_machine_that_has_no_time_at_all_costs_no_point(
    kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.sandbox.budget.MAX_WALL_S_PER_LIMIT_S", 3)
    with crowded(sandbox, monkeypatch, 99), pytest.raises(MachineBusy) as caught:
        graded(TAKES.format(0.45), kit, sandbox, timeout=0.6)
    assert caught.value.exit_code == 3
    assert "this machine is too busy" in str(caught.value)
    assert graded(TAKES.format(0.01), kit, sandbox).solved


def test_source_that_the_machine_had_no_time_to_load_is_loaded_again(
    kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And how it fails then is said once, for the whole file."""
    assert sandbox.isolation  # its canary has been tried
    expect, tries = Clock.raise_if_machine_busy, []

    def busy_at_first(clock: Clock) -> None:
        tries.append(clock)
        if len(tries) == 1:
            raise MachineBusy("busy")
        expect(clock)

    monkeypatch.setattr(Clock, "raise_if_machine_busy", busy_at_first)
    report = graded(f"print('here')\n{TAKES.format(1)}\nraise ValueError(3)\n", kit, sandbox)
    assert len(tries) > 1
    assert report.problem.startswith("does not import: ValueError: 3")
    assert report.output == "here\n"


@pytest.mark.slow("keeps the machine busy")
def test_walls_are_not_doubted_where_the_machine_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A canary without time says nothing of the level that it was to try."""

    def busy(clock: Clock) -> None:
        raise MachineBusy("busy")

    with Sandbox() as own:
        monkeypatch.setattr(Clock, "raise_if_machine_busy", busy)
        with pytest.raises(MachineBusy):
            _ = own.isolation
        assert own.refused == {}


def test_sleep_between_requests_is_nobodys(begin: Callable[[str], Session]) -> None:
    """Nor is what the trusted side takes meanwhile."""
    session = begin("def f(x):\n    return x\n")
    before = session.clock.taken
    for _ in range(20):
        batch = session.batch()
        batch.call("f", [((1,), {})])
        batch.send(meanwhile=lambda: sum(range(500_000)))
    assert session.clock.idle == 0.0
    assert session.clock.taken - before < 0.2
