"""Which tests are tried: those that are drawn, or of all others what is left.

``pytest -m exhaustive`` goes on where it was stopped, as long as no file has changed. What failed
in it is written to ``tests/failed.txt``: who commits that has it tried each time until it passes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.drawing import draw
from tests.support.kept import digest
from tests.support.paths import ROOT

EXHAUSTIVE = "exhaustive"
FAILED = ROOT / "tests" / "failed.txt"
FOLDERS = ("benchmarks", "exercises", "grader", "kits", "solutions", "tests")
TESTS_PER_SAVE = 20  # after which is written down which have passed
SLOW_TEST_S = 3.0  # a test that takes longer says why, by its mark ``slow``
MAX_LISTED_SLOW = 10  # of those that don't


class Lanes:
    """A plugin: draws, leaves out what has passed, remembers what passes and what fails.

    Args:
        config: Pytest's.
        seed: Draws the tests.
    """

    def __init__(self, config: pytest.Config, seed: str) -> None:
        self._config, self._seed = config, seed
        self._is_exhaustive = config.option.markexpr == EXHAUSTIVE
        self._is_one_of_many = hasattr(config, "workerinput")
        are_named = config.args_source is pytest.Config.ArgsSource.ARGS
        self._is_all = config.option.drawn or not are_named
        self._failed = {line for line in _lines(FAILED) if line}
        self._cache: pytest.Cache | None = getattr(config, "cache", None)
        self._passed: set[str] = set()
        self._chosen = 0
        self._long: list[tuple[float, str]] = []
        if self._is_exhaustive and not self._is_one_of_many:
            self._state = digest(str(path.read_bytes()) for path in _files())
            self._passed = self._known()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell one of many processes what it cannot know."""
        node.workerinput |= {"passed": sorted(self._passed), "is_all": self._is_all}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Draw; and of the others, leave out those of other parts and those that have passed."""
        told = getattr(self._config, "workerinput", {})
        draw(items, self._seed, self._failed, told.get("is_all", self._is_all))
        if not self._is_exhaustive:
            return
        passed = {*told.get("passed", self._passed)}
        number, parts = map(int, self._config.getoption("part").split("/"))
        chosen, others = [], []
        for item in items:
            is_mine = zlib.crc32(item.nodeid.encode()) % parts == number % parts
            is_left = is_mine and item.nodeid not in passed
            is_left &= item.get_closest_marker(EXHAUSTIVE) is not None
            (chosen if is_left else others).append(item)
        items[:] = chosen
        self._config.hook.pytest_deselected(items=others)
        if self._cache is not None:
            self._cache.set(f"{EXHAUSTIVE}/chosen", len(chosen))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what came."""
        if report.failed and EXHAUSTIVE in report.keywords:
            self._failed.add(report.nodeid)
        if report.when != "call" and not report.skipped:
            return
        if not report.failed:
            self._failed.discard(report.nodeid)
            self._passed.add(report.nodeid)
            if len(self._passed) % TESTS_PER_SAVE == 0:
                self._write()
        if report.duration > SLOW_TEST_S and "slow" not in report.keywords:
            self._long.append((report.duration, report.nodeid))

    def pytest_sessionfinish(self) -> None:
        """Keep it, whether all was tried or not."""
        if self._cache is not None and not self._is_one_of_many:
            self._chosen = self._cache.get(f"{EXHAUSTIVE}/chosen", 0)
        self._write()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is left, what has to be committed, and what takes long without saying why."""
        say = terminalreporter.write_line
        if self._is_exhaustive:
            left = self._chosen - len(self._passed - self._known_before)
            say(f"{EXHAUSTIVE}: {max(left, 0)} are left; the same command goes on with them")
        if "\n".join(sorted(self._failed)) != "\n".join(_lines(FAILED)):
            text = "".join(f"{name}\n" for name in sorted(self._failed))
            FAILED.write_text(text, encoding="utf-8")
            say(f"{FAILED.relative_to(ROOT)} has changed: commit it, so that these are tried")
            say(text)
        for seconds, name in sorted(self._long, reverse=True)[:MAX_LISTED_SLOW]:
            say(f"{seconds:.1f} s without the mark `slow`: {name}")

    def _known(self) -> set[str]:
        state, passed = "", list[str]()
        if self._cache is not None:
            state, passed = self._cache.get(f"{EXHAUSTIVE}/passed", (state, passed))
        self._known_before = {*passed} if state == self._state else set[str]()
        return {*self._known_before}

    def _write(self) -> None:
        if self._is_exhaustive and not self._is_one_of_many and self._cache is not None:
            self._cache.set(f"{EXHAUSTIVE}/passed", (self._state, sorted(self._passed)))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _files() -> Iterator[Path]:
    """All that a test may depend on."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
