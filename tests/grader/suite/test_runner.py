"""One collected suite serves many submissions, and one that was stopped harms none after it."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
import torch

from grader.attention import pipeline
from grader.diagnosis.attach import NOT_SEARCHED
from grader.errors import GraderFault
from grader.grading import Options, grade
from grader.kit import Kit, installed_kit
from grader.records import CheckResult, Verdict
from grader.sandbox.budget import LIMIT_DIVISOR_AFTER_TIMEOUT, TimeBudget
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.workers import Stopped, WorkerTimeout
from grader.submission import Submission, read_submission
from grader.suite import known
from grader.suite.runner import SuiteRunner, suite_runner
from grader.suite.situations import places
from tests.support.planted import contract_of


def run(session: Session, name: str, value: int) -> object:
    batch = session.batch()
    call = batch.call(name, [((value,), {})])
    batch.send()
    return call.result()


LOOP = "def double(x):\n    while True:\n        pass\n"


def test_runs_after_each_other_share_nothing(kit: Kit, sandbox: Sandbox) -> None:
    exercise = kit.find("double")
    right = read_submission(exercise.solution)
    wrong = Submission(Path("double.py"), "def double(x):\n    return 3 * x\n")
    missing = Submission(Path("double.py"), "x = 1\n")
    options = Options(seed=1, device="cpu")
    first = grade(right, exercise, options, sandbox)
    assert first.solved
    for other in (wrong, missing):
        assert not grade(other, exercise, options, sandbox).solved
        again = grade(right, exercise, options, sandbox)
        assert [(c.name, c.verdict, c.message) for c in again.checks] == [
            (c.name, c.verdict, c.message) for c in first.checks
        ]


def test_nothing_that_a_submission_computed_is_kept_nor_left_to_the_collector(
    sandbox: Sandbox,
) -> None:
    exercise = installed_kit().find("warmup1")
    source = read_submission(exercise.solution).source
    pinned = source.replace("scores.softmax(", "scores.cpu().softmax(")  # loses the last check
    wrong = source.replace("scores.softmax(dim=-1", "scores.softmax(dim=-2")  # is explained
    left = []
    gc.disable()
    try:
        for text in (source, wrong, pinned):
            report = grade(
                Submission(Path("warmup1.py"), text), exercise, Options(1, "cpu"), sandbox
            )
            assert report.solved == (text == source)
            places.forget_situations()
            known.forget()
            pipeline._shared_pipelines.clear()
            left.append(sum(isinstance(one, torch.Tensor) for one in gc.get_objects()))
    finally:
        gc.enable()
    assert max(left) < left[0] + 10, left


def test_situations_of_an_earlier_seed_are_dropped() -> None:
    contract = contract_of(installed_kit().find("warmup1"))
    drawn = places._drawn_situations(contract, 1)
    assert places._drawn_situations(contract, 1) is drawn
    assert places._drawn_situations(contract, 2) is not drawn
    assert places._drawn_situations(contract, 1) is not drawn


def test_suite_is_collected_once_and_again_when_it_changes(kit: Kit, tmp_path: Path) -> None:
    suite = tmp_path / "test_copy.py"
    text = kit.find("double").suite.read_text(encoding="utf-8")
    suite.write_text(text, encoding="utf-8")
    runner = suite_runner(suite)
    assert suite_runner(suite) is runner
    time.sleep(0.01)
    changed = text + "\n\ndef test_one_more():\n    pass\n"
    suite.write_text(changed, encoding="utf-8")
    assert len(suite_runner(suite)._session.items) == len(runner._session.items) + 1


def test_suites_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    counts = []
    for number in (1, 2):
        suite = tmp_path / str(number) / "test_same.py"
        suite.parent.mkdir()
        suite.write_text("".join(f"def test_{n}():\n    pass\n" for n in range(number)))
        counts.append(len(SuiteRunner(suite)._session.items))
    assert counts == [1, 2]


def test_suite_that_is_missing_broken_or_empty_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(GraderFault, match="is missing; reinstall"):
        suite_runner(tmp_path / "test_nowhere.py")
    broken = tmp_path / "test_broken.py"
    broken.write_text("import nowhere\n")
    with pytest.raises(GraderFault, match=r"(?s)is broken; please report this.*nowhere"):
        SuiteRunner(broken)
    empty = tmp_path / "test_empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(GraderFault, match="cannot be run"):
        SuiteRunner(empty)


MISUSED = """
from grader.attention import AttentionContract, MASK, X
from grader.attention import claims as attention
from grader.suite import Contract, Sizes, claims

general = Contract(entry="f", oracle=lambda weights, sizes, x: x, sizes=(Sizes(B=2, T=3, C=5),))
bare = AttentionContract(entry="f", oracle=general.oracle, sizes=general.sizes)
masked = AttentionContract(
    entry="f", oracle=general.oracle, sizes=general.sizes, inputs={"x": X, "attention_mask": MASK}
)
"""


@pytest.mark.parametrize(
    ("contract", "claim", "said"),
    [
        (
            "general",
            "attention.weights_sum_to_one",
            "needs a `AttentionContract`, not a `Contract`",
        ),
        ("bare", "attention.weights_sum_to_one", "needs `value_vectors`"),
        ("bare", "attention.mask_broadcasts", "needs `masks`"),
        ("masked", "attention.drops_weights", "needs `dropout`, `value_vectors`"),
        ("masked", "attention.mistake_is_gone('never-scaled', why='')", "needs `layout`"),
        ("bare", "claims.has_its_parameters", "needs `parameters`"),
    ],
)
def test_claim_that_a_contract_cannot_serve_is_the_suites_fault(
    tmp_path: Path, contract: str, claim: str, said: str
) -> None:
    suite = tmp_path / "test_misused.py"
    suite.write_text(f"{MISUSED}\ncontract = {contract}\ntest_it = {claim}\n")
    with pytest.raises(GraderFault, match=re.escape(f"`test_it` {said}")):
        SuiteRunner(suite)


def test_result_that_was_never_asked_for_is_the_suites_fault(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    suite = tmp_path / "test_unasked.py"
    suite.write_text(
        f"{MISUSED}\ncontract = general\n"
        "def test_it(harness):\n    harness.module().call(harness.inputs()).out\n"
    )
    session = Session(sandbox, Submission(Path("f.py"), "def f(x):\n    return x\n"), 5.0, 60.0)
    with pytest.raises(GraderFault, match="looked at before"):
        SuiteRunner(suite).run(session, 1)
    session.close()


def test_stopped_grading_ends_and_the_next_is_right(kit: Kit, sandbox: Sandbox) -> None:
    exercise = kit.find("double")
    runner = suite_runner(exercise.suite)
    timer = threading.Timer(0.5, sandbox.stop.set)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        grade(Submission(Path("double.py"), LOOP), exercise, Options(timeout=60), sandbox)
    sandbox.stop.clear()
    assert runner.spent
    assert suite_runner(exercise.suite) is not runner
    assert grade(read_submission(exercise.solution), exercise, Options(), sandbox).solved


def test_worker_that_died_while_it_waited_is_not_given_out(sandbox: Sandbox) -> None:
    sandbox.prepare()
    spare = sandbox._spare
    assert spare is not None
    os.kill(spare._process.pid, signal.SIGKILL)  # as the kernel might
    while not spare.gone:
        time.sleep(0.01)
    fresh = sandbox.worker()
    assert fresh is not spare
    fresh.kill()


def test_situations_are_on_no_checks_time(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were on that of the check that came first: 0.3 s, where it took 0.002."""
    clock = itertools.count(step=100.0)
    monkeypatch.setattr("grader.sandbox.session.monotonic", lambda: next(clock))
    exercise = installed_kit().find("warmup1")
    report = grade(read_submission(exercise.solution), exercise, Options(seed=1), sandbox)
    assert report.solved
    asks = "test_output_keeps_shape_dtype_and_device"  # the first that situations back
    assert [check.name for check in report.checks if not check.seconds] == [asks]


def test_checks_after_one_that_took_too_long_get_less(sandbox: Sandbox) -> None:
    session = Session(sandbox, Submission(Path("double.py"), LOOP), 2.0, 60.0)
    limits = []
    for _ in range(2):
        session.begin_check(1)
        with pytest.raises(WorkerTimeout):
            run(session, "double", 3)
        limits.append(session.clock.taken)
        session.end_check()
    session.close()
    assert limits[0] >= 2.0
    assert limits[1] < 2.0 / LIMIT_DIVISOR_AFTER_TIMEOUT + 1.0


def test_what_a_check_rewrites_is_under_the_clock_of_that_check(sandbox: Sandbox) -> None:
    """A check of `bug14` ran for 46 s where 2 were given: each of its runs had a clock anew."""
    session = Session(sandbox, Submission(Path("double.py"), "x = 1\n"), 2.0, 60.0)
    session.begin_check(1)
    clock = session.clock
    other = session.rewritten(LOOP)
    other.begin_check(1)
    with pytest.raises(WorkerTimeout):
        run(other, "double", 3)
    assert other.clock is clock
    late = session.rewritten(LOOP)
    with pytest.raises(WorkerTimeout, match="took too long"):
        late.begin_check(1)  # no worker is started for it
    assert late._channel is None
    for one in (session, other, late):
        one.close()


@pytest.mark.slow("a source that is made to take long")
def test_a_source_that_loads_slowly_is_given_the_time_again(sandbox: Sandbox) -> None:
    slow = "import time\ntime.sleep(0.8)\ndef fine(x):\n    return x\n" + LOOP
    session = Session(sandbox, Submission(Path("double.py"), slow), 4.0, 60.0)
    session.begin_check(1)
    with pytest.raises(WorkerTimeout):
        run(session, "double", 3)
    session.end_check()
    session.begin_check(1)
    assert run(session, "fine", 3) == 3
    session.close()


def test_a_source_that_has_run_once_does_import(sandbox: Sandbox) -> None:
    """However little time there is for it in a later check."""
    source = "sum(range(10**7))\n\n\ndef double(x):\n    return 2 * x\n"
    session = Session(sandbox, Submission(Path("double.py"), source), 5.0, 60.0)
    session.begin_check(1)
    session.close()
    session.budget._shorter = 1e-9
    with pytest.raises(WorkerTimeout):
        session.begin_check(2)
    assert session.load_error is None
    session.budget._shorter = 5.0
    session.begin_check(3)
    assert run(session, "double", 3) == 6
    session.close()


def test_stop_reaches_a_request_under_way(sandbox: Sandbox) -> None:
    session = Session(sandbox, Submission(Path("double.py"), LOOP), 60.0, 60.0)
    session.begin_check(1)
    threading.Timer(0.3, sandbox.stop.set).start()
    with pytest.raises(Stopped):
        run(session, "double", 3)
    sandbox.stop.clear()
    session.close()


def test_judging_is_under_one_clock_and_the_report_says_what_it_cost(
    kit: Kit, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def double(x):\n    return 3 * x if len(x) == 5 else x + keyz\n"
    submission = Submission(Path("double.py"), source)

    def checks() -> list[CheckResult]:
        options = Options(seed=1, device="cpu")
        return list(grade(submission, kit.find("double"), options, sandbox).checks)

    raising = [check for check in checks() if check.fault is not None]
    assert all("nothing in the file is called `keyz`" in check.explanation for check in raising)
    tried = len(raising) + 1
    asked = itertools.count()
    monkeypatch.setattr(TimeBudget, "judging_is_over", property(lambda _: next(asked) >= tried))
    assert {check.explanation for check in checks()} == {NOT_SEARCHED}
    monkeypatch.setattr(TimeBudget, "judging_is_over", True)
    assert {check.verdict for check in checks()} == {Verdict.TIMEOUT}
    assert all("took all the time there is" in check.message for check in checks())
