"""What all tests have: a sandbox, verdicts that are kept, and the draw of those that are tried."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import signal
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import forkserver
from typing import TYPE_CHECKING

import pytest

from grader.kit import Exercise
from grader.records import Report
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from grader.wire.kernels import choose_kernels
from tests.support.drawing import commit
from tests.support.kept import KeptVerdicts
from tests.support.lanes import Lanes

if TYPE_CHECKING:  # imports torch, which only the processes that run tests need
    from grader.grading import Options

IS_GLIBC = platform.libc_ver()[0] == "glibc"
M_ARENA_MAX = -8  # of glibc's malloc.h
os.environ["GRADE_LANG"] = "en"  # whatever whoever runs the tests speaks
Grade = Callable[[Submission, Exercise, "Options"], Report]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the draw."""
    group = parser.getgroup("drawn tests")
    group.addoption("--answers-seed", help="draw the tests of an earlier run: its first lines say")
    group.addoption(
        "--drawn", action="store_true", help="draw of slow tests, though files are named"
    )
    group.addoption("--part", default="0/1", help="of `-m exhaustive`, one of so many parts: 3/10")
    group.addoption(
        "--no-kept-verdicts", action="store_true", help="grade what cannot have changed as well"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draw by the commit, unless a seed is given.

    Threads share one heap: glibc gives each its own, which keeps what a grading once took. Ctrl-C
    reaches what tests start, though a shell that starts pytest in the background ignores it.
    oneDNN's limit is set before a test multiplies: otherwise it keeps 250 KiB for each product.
    """
    choose_kernels()
    if IS_GLIBC:
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.option.answers_seed = config.option.answers_seed or commit()
    config.pluginmanager.register(Lanes(config, config.option.answers_seed))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tests of one exercise share what is right in its situations, some 50 MB; others don't.

    Nor what was searched, which is kept for a batch of one seed.
    """
    from grader.attention import pipeline
    from grader.suite import known
    from grader.suite.situations.places import forget_situations

    if nextitem is None or nextitem.path != item.path:
        gc.collect()  # sessions and tracebacks of a file's tests hold some 50 MB
    if nextitem is None or nextitem.name.partition("-")[0] != item.name.partition("-")[0]:
        forget_situations()
        pipeline._shared_pipelines.clear()
        known._cache.clear()
        if IS_GLIBC:
            ctypes.CDLL(None).malloc_trim(0)  # hundreds of MB; it takes 0.5 to 5 ms
    if nextitem is None or nextitem.path.parent != item.path.parent:
        # What a batch's processes are forked from, which has imported torch, would stay to the end.
        forkserver._forkserver._stop()


def pytest_report_header(config: pytest.Config) -> str:
    """How to have the same tests drawn."""
    return f"answers drawn by --answers-seed {config.option.answers_seed}"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="session")
def graded(pytestconfig: pytest.Config, sandbox: Sandbox) -> Grade:
    """Grade a submission of the kit; where nothing has changed, as it came the last time."""
    option = pytestconfig.option
    cache = None if option.no_kept_verdicts else getattr(pytestconfig, "cache", None)
    return partial(KeptVerdicts(cache, option.answers_seed).grade, sandbox=sandbox)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine is no reason to name nothing."""
    monkeypatch.setattr("grader.diagnosis.by_edits.SEARCH_LIMIT_S", 60.0)
    monkeypatch.setattr("grader.attention.search.SEARCH_LIMIT_S", 30.0)
    monkeypatch.setattr("grader.diagnosis.beside.SEARCH_LIMIT_S", 15.0)
    monkeypatch.setattr("grader.sandbox.budget.MAX_JUDGING_CPU_S", 120.0)
