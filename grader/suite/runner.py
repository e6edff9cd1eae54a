"""Runs suites with pytest, under settings that nothing from outside can change."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import torch

from grader.errors import GraderFault, MachineBusy, TakesLong
from grader.records import CheckResult, OwnTry
from grader.records.progress import OnProgress
from grader.sandbox.session import Session
from grader.suite.plugin import SuitePlugin
from grader.suite.situations.judging import Judgement
from grader.suite.situations.trial import precompute_situations

M_ARENA_MAX = -8  # as defined in glibc's malloc.h
SETTINGS_FILE = Path(__file__).parent / "suite.ini"
# Plugins of pytest that no suite needs; with them a run takes several times as long.
UNUSED_PLUGINS = (
    "assertion", "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml",
    "logging", "monkeypatch", "pastebin", "recwarn", "reports", "setuponly", "setupplan",
    "stepwise", "subtests", "threadexception", "tmpdir", "unittest", "unraisableexception",
    "warnings",
)  # fmt: skip


class SuiteRunner:
    """A suite, collected once by a pytest session of its own, and run on one submission at a time.

    The session lives in a thread and waits in its test loop for the end, so that later runs need
    not wait until pytest has started and collected the suite.

    Args:
        suite: Path of the suite's file.

    Raises:
        GraderFault: The suite is missing or broken.
    """

    def __init__(self, suite: Path) -> None:
        if not suite.is_file():
            raise GraderFault(f"the suite `{suite}` is missing; reinstall `attention-drills`")
        self._suite = suite
        self._session: pytest.Session
        self._over = threading.Event()  # set to let the session end
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._lock = threading.Lock()
        self.plugin = SuitePlugin()
        self.spent = False  # whether an interruption has ended the session
        with _own_environment(), _own_module(suite.stem):
            threading.Thread(target=self._serve, daemon=True).start()
            ended = self._done.get()
        if self.plugin.broken:
            raise GraderFault(
                f"the suite `{suite}` is broken; please report this:\n{self.plugin.broken}"
            )
        if ended is not None:
            raise ended

    def run(
        self,
        session: Session,
        seed: int,
        progress: OnProgress | None = None,
        only: Collection[str] | None = None,
        first: bool = False,
    ) -> list[CheckResult]:
        """Run the checks on a submission.

        Args:
            session: Session of the submission.
            seed: Seed of the whole grading.
            progress: Called after each check, and after each request that tries situations.
            only: Names of the checks to run; None for all.
            first: Whether to stop after the first check that is lost.

        Raises:
            GraderFault: A check is broken.
            MachineBusy: The machine had no time for a check, and none when it was tried again.
            TakesLong: The checks have taken longer than the ``patience`` given to the session.
            KeyboardInterrupt: Ctrl-C, or the sandbox was told to stop; this runner is then spent.
        """
        return self._run(session, seed, progress, only, first)

    def run_again(self, session: Session, seed: int, lost: Collection[str]) -> list[CheckResult]:
        """Run the checks that the last submission lost on another that stands in for it.

        The other one is tried only in situations in which the last submission was wrong.

        Args:
            session: Session of the other submission.
            seed: Seed of the grading of the last submission.
            lost: Names of the lost checks.

        Raises:
            As ``run``.
        """
        return self._run(session, seed, None, lost, stands_for=self.plugin.judged)

    def _run(
        self,
        session: Session,
        seed: int,
        progress: OnProgress | None,
        only: Collection[str] | None,
        first: bool = False,
        stands_for: Judgement | None = None,
    ) -> list[CheckResult]:
        with self._lock:
            self.plugin.begin(session, seed, progress, stands_for, first)
            # A thread of its own, as torch's buffers stay, some 6 MB, for as long as their thread.
            threading.Thread(target=self._do, args=(only, first), daemon=True).start()
            try:
                ended = self._done.get()
            except KeyboardInterrupt:
                with session.stopped():
                    self._done.get()
                raise
        if ended is not None:
            raise ended
        if self.plugin.fault is not None:
            raise self.plugin.fault
        return self.plugin.results

    def try_on(
        self, session: Session, seed: int, own: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> OwnTry:
        """Run a submission on inputs that the user chose; see ``own_try.try_on``."""
        with self._lock, one_thread():
            self.plugin.begin(session, seed)
            return self.plugin.try_on(own, sizes)

    def foresee(self, seed: int, stop: threading.Event | None = None) -> None:
        """Draw the situations of a grading to come, and compute the right answers in advance.

        Those of the contracts that the last submission was tried in; before the first, of the
        suite's own.

        Args:
            seed: Seed of the whole grading.
            stop: Event that another thread sets to stop; the grading then computes the rest.
        """
        own = self.plugin.contract
        contracts = self.plugin.tried or ([own] if own and own.has_situations else [])
        with self._lock, one_thread():
            precompute_situations(contracts, seed, stop or threading.Event())

    def let_go(self) -> None:
        """Drop the submission's data, and return its memory to the system."""
        self.plugin.let_go()
        with contextlib.suppress(OSError, AttributeError):  # other C libraries have no such call
            ctypes.CDLL(None).malloc_trim(0)

    def _do(self, only: Collection[str] | None, first: bool) -> None:
        """Run checks, and tell how that ended."""
        ended: BaseException | None = None
        try:
            self._run_checks(only, first)
        except BaseException as error:
            ended, self.spent = error, True
        self._done.put(ended)
        if self.spent:
            self._over.set()

    def _serve(self) -> None:
        """Run the pytest session in this thread until it ends."""
        arguments = [
            *(word for name in UNUSED_PLUGINS for word in ("-p", f"no:{name}")),
            *("-c", str(SETTINGS_FILE), "--rootdir", str(self._suite.parent), "--noconftest"),
            *("--import-mode=importlib", "--", str(self._suite)),
        ]
        ended: BaseException
        try:
            code = int(pytest.main(arguments, plugins=[self.plugin, self]))
            ended = GraderFault(
                f"the suite `{self._suite}` cannot be run (pytest's exit code {code})"
            )
        except BaseException as error:
            ended = error
        self._done.put(ended)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Replace pytest's own loop: keep the session open, for jobs, until the runner is spent."""
        if not session.items or session.testsfailed:
            return None
        self._session = session
        self._done.put(None)
        self._over.wait()
        return True

    def _run_checks(self, only: Collection[str] | None, first: bool) -> None:
        wanted = [item for item in self._session.items if only is None or item.name in only]
        items: list[pytest.Item | None] = [*wanted, None]
        with one_thread():
            for item, following in itertools.pairwise(items):
                assert item is not None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self.plugin.must_rerun:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if isinstance(self.plugin.fault, MachineBusy | TakesLong):
                    return  # every later check would fail for the same reason
                if first and any(one.is_lost for one in self.plugin.results[-1:]):
                    return


def suite_runner(suite: Path) -> SuiteRunner:
    """Return the runner of a suite: the same one as long as the suite's file is unchanged.

    Raises:
        GraderFault: The suite is missing or broken.
    """
    stamp = suite.stat().st_mtime_ns if suite.is_file() else 0
    known = _runners.get(suite)
    if is_first := not _runners:
        _share_one_heap()
        gc.freeze()  # what is imported stays, so no garbage collection need look at it again
    if known is None or known[0] != stamp or known[1].spent:
        known = _runners[suite] = stamp, SuiteRunner(suite)
        if is_first:
            gc.freeze()  # nor at what the first suite has added
    return known[1]


_runners: dict[Path, tuple[int, SuiteRunner]] = {}


def _share_one_heap() -> None:
    """Limit glibc to one heap: with one per suite's thread, it keeps the peak of each."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread inside the block, and never round products to TF32.

    The tensors of a check are small: a second thread would only take the worker's core. TF32
    matters where our solution is run on a GPU.
    """
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)


@contextlib.contextmanager
def _own_environment() -> Iterator[None]:
    """Hide environment variables of pytest, and write no bytecode, inside the block."""
    saved = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}
    written = sys.dont_write_bytecode
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = written
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        os.environ.update(saved)


@contextlib.contextmanager
def _own_module(name: str) -> Iterator[None]:
    """Let the block import a module of this name anew; restore any earlier one afterwards."""
    before = sys.modules.pop(name, None)
    try:
        yield
    finally:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before
