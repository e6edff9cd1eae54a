"""A verdict that cannot have changed is not computed again: it is kept in pytest's own cache.

What it depends on has a digest: the engine, the suite, what is graded and how. One in twenty is
computed all the same, and must agree.
"""

from __future__ import annotations

import hashlib
import platform
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.kit import Exercise
from grader.records import CheckResult, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.drawing import share
from tests.support.paths import ROOT

if TYPE_CHECKING:  # imports torch, which the process that only hands out tests does not need
    from grader.grading import Options

RECOMPUTED_SHARE = 1 / 20  # of those that are kept, computed all the same
LOWEST_DISPLAY_LAYER = "outputs"  # this layer and those above it decide no verdict
MAX_KEPT_CHARS = 300  # of a message


class KeptVerdicts:
    """Gradings, each as it came the last time where nothing that it depends on has changed.

    Args:
        cache: Pytest's own; without one, each is computed.
        seed: Draws those that are computed all the same.
    """

    def __init__(self, cache: pytest.Cache | None, seed: str) -> None:
        self._cache, self._seed = cache, seed

    def grade(
        self, submission: Submission, exercise: Exercise, options: Options, sandbox: Sandbox
    ) -> Report:
        """What ``grade`` gives; of a kept one without explanations, what was printed, and maps."""
        from grader.grading import grade

        if self._cache is None or options.case or options.progress or options.maps:
            return grade(submission, exercise, options, sandbox)
        depends = (engine(), _exercise(exercise), submission.source, repr(options))
        name = f"verdicts/{digest(depends)}"
        kept = self._cache.get(name, None)
        if kept is not None and share(self._seed, name) > RECOMPUTED_SHARE:
            return Report.from_json(kept)
        report = grade(submission, exercise, options, sandbox)
        if kept is not None:
            assert verdict_facts(Report.from_json(kept)) == verdict_facts(report), (
                "it was kept, and is another now"
            )
        if Verdict.TIMEOUT not in {check.verdict for check in report.checks}:
            self._cache.set(name, _short(report).to_json())
        return report


def verdict_facts(report: Report) -> object:
    """What of a report must be the same each time."""
    checks = [(check.name, check.verdict, check.points) for check in report.checks]
    return checks, bool(report.problem), report.diagnosis


def digest(parts: Iterable[str]) -> str:
    """Of texts in their order."""
    made = hashlib.sha256()
    for part in parts:
        made.update(f"{len(part)} {part}".encode(errors="surrogatepass"))
    return made.hexdigest()[:32]


@cache
def engine() -> str:
    """The digest of all that decides verdicts, whatever is graded."""
    versions = (platform.python_version(), metadata.version("torch"), platform.machine())
    return digest((*versions, *(path.read_bytes().hex() for path in engine_files())))


def engine_files() -> Iterator[Path]:
    """The grader's files, but for those of the layers that only show what came."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    above = layers[: layers.index(LOWEST_DISPLAY_LAYER) + 1]
    shown = {name for layer in above for name in layer.split(" | ")}
    for path in sorted((ROOT / "grader").rglob("*")):
        first = path.relative_to(ROOT / "grader").parts[0].removesuffix(".py")
        if path.is_file() and first not in shown and path.suffix not in (".pyc", ".po", ".mo"):
            yield path


@cache
def _exercise(exercise: Exercise) -> str:
    """The digest of an exercise's suite, of those that it takes checks from, and what explains."""
    found = {path: path.read_text(encoding="utf-8") for path in _suites(exercise.suite)}
    for path in (exercise.solution, exercise.mistakes):
        if path.is_file():
            found[path] = path.read_text(encoding="utf-8")
    home = str(exercise.suite.parents[3])
    return digest((repr(exercise).replace(home, ""), *found.values()))


def _suites(suite: Path) -> list[Path]:
    """A suite, those that it loads, and those that these load."""
    found = [suite]
    for one in found:  # and whatever is added meanwhile
        for name in re.findall(r"[\w/]*test_\w+\.py", one.read_text(encoding="utf-8")):
            others = sorted(one.parents[1].rglob(Path(name).name))
            found += [path for path in others if path not in found]
    return found


def _short(report: Report) -> Report:
    checks = tuple(
        CheckResult(one.name, one.verdict, one.points, message=one.message[:MAX_KEPT_CHARS])
        for one in report.checks
    )
    return replace(report, checks=checks, maps=())
