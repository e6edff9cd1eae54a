"""Which tests are tried each time, and that each is tried in some lane."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.grading import Options
from grader.kit import Exercise, load_kit
from grader.records import CheckResult, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support import kept, lanes
from tests.support.drawing import share
from tests.support.kept import KeptVerdicts, engine_files
from tests.support.paths import ROOT, TINY_KIT

pytest_plugins = ["pytester"]
MANY_TESTS = """
import pytest
from tests.support.drawing import sampled

@sampled("numbers", 5)
@pytest.mark.parametrize("number", range(20))
def test_number(number):
    assert number != 7

def test_always():
    pass

@sampled("left to the rest", 0)
def test_rest():
    pass

@pytest.mark.slow("sleeps")
@pytest.mark.parametrize("hour", range(9))
def test_hour(hour):
    pass

@pytest.mark.slow("sleeps", always=True)
def test_night():
    pass
"""
SETTINGS = (
    "[pytest]\nmarkers =\n    drawn(group, most): some\n    exhaustive: rest\n    slow(why): long\n"
)
Run = Callable[..., Any]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest on many tests, of which some are drawn; the seventh fails."""
    monkeypatch.setattr(lanes, "ROOT", pytester.path)
    monkeypatch.setattr(lanes, "FAILED", pytester.path / "failed.txt")
    monkeypatch.setattr(lanes, "FOLDERS", ("tests",))
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile(test_many=MANY_TESTS)
    pytester.makeini(SETTINGS)

    def run_one(lane: str = "not exhaustive", *words: str) -> Any:
        given = ("-q", "-rA", "-m", lane, "--answers-seed", "1", *words)
        return pytester.runpytest_inprocess(*given)

    return run_one


def tried(result: Any) -> set[str]:
    lines = [line.split() for line in result.outlines]
    return {line[1] for line in lines if line[:1] in (["PASSED"], ["FAILED"])}


def test_some_are_drawn_and_another_seed_draws_others(run: Run) -> None:
    first = tried(run())
    assert len(first) == 5 + 1 + 2 + 1
    assert "test_many.py::test_night" in first
    assert tried(run()) == first
    others = tried(run("not exhaustive", "--answers-seed", "2"))
    assert len(others) == len(first)
    assert others != first
    assert tried(run("exhaustive")).isdisjoint(first)


def test_of_files_that_are_named_all_slow_tests_are_tried(run: Run) -> None:
    named = tried(run("not exhaustive", "test_many.py"))
    assert len(named) == 5 + 1 + 9 + 1
    assert tried(run("not exhaustive", "--drawn", "test_many.py")) == tried(run())


def test_ten_parts_are_all_that_was_not_drawn(run: Run) -> None:
    parts = [
        tried(run("exhaustive", "--part", f"{n}/10", "-p", "no:cacheprovider")) for n in range(10)
    ]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 15 + 1 + 7


def test_exhaustive_lane_goes_on_and_what_failed_is_tried_each_time(
    run: Run, pytester: pytest.Pytester
) -> None:
    seventh = "test_many.py::test_number[7]"
    stopped = run("exhaustive", "--maxfail", "1")
    failed = pytester.path / "failed.txt"
    assert failed.read_text() == f"{seventh}\n"
    stopped.stdout.fnmatch_lines(["exhaustive: * are left; the same command goes on with them"])
    others = tried(run("exhaustive"))
    assert not others & (tried(stopped) - {seventh})
    assert seventh in tried(run())  # it was not drawn
    assert not tried(run("exhaustive"))
    pytester.makepyfile(test_many=MANY_TESTS.replace("number != 7", "True"))
    run()
    assert failed.read_text() == ""


class FakeCache:
    """As pytest's."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def get(self, name: str, default: Any) -> Any:
        return self.held.get(name, default)

    def set(self, name: str, value: Any) -> None:
        self.held[name] = value


@pytest.fixture
def gradings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were graded."""
    found: list[str] = []

    def grade(file: Submission, exercise: Exercise, options: Options, sandbox: Sandbox) -> Report:
        found.append(file.source)
        checks = (CheckResult("test_one", Verdict.PASS, 1, message="long " * 1000),)
        return Report(
            *(exercise.name, "a.py", "0", checks, 1, "cpu", "full"), *("2026", 0.1, {"a": "1"})
        )

    monkeypatch.setattr("grader.grading.grade", grade)
    return found


def test_verdict_is_computed_again_only_where_what_it_depends_on_has_changed(
    gradings: list[str], monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox
) -> None:
    cache: Any = FakeCache()
    double, options = load_kit(TINY_KIT).find("double"), Options(seed=1, device="cpu")
    monkeypatch.setattr(kept, "RECOMPUTED_SHARE", 0.0)
    verdicts = KeptVerdicts(cache, "seed")
    one, other = (Submission(Path("a.py"), source) for source in ("x = 1\n", "x = 2\n"))
    first = verdicts.grade(one, double, options, sandbox)
    again = verdicts.grade(one, double, options, sandbox)
    assert kept.verdict_facts(first) == kept.verdict_facts(again)
    assert gradings == ["x = 1\n"]
    assert all(len(text) < 2000 for text in cache.held.values())
    verdicts.grade(other, double, options, sandbox)
    verdicts.grade(one, double, replace(options, seed=2), sandbox)
    monkeypatch.setattr(kept, "engine", lambda: "another")
    verdicts.grade(one, double, options, sandbox)
    assert gradings == ["x = 1\n", "x = 2\n", "x = 1\n", "x = 1\n"]


def test_one_in_some_is_computed_all_the_same_and_has_to_agree(
    gradings: list[str], monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox
) -> None:
    cache: Any = FakeCache()
    double, options = load_kit(TINY_KIT).find("double"), Options(seed=1, device="cpu")
    monkeypatch.setattr(kept, "RECOMPUTED_SHARE", 1.0)
    one = Submission(Path("a.py"), "x = 1\n")
    for _ in range(2):
        report = KeptVerdicts(cache, "seed").grade(one, double, options, sandbox)
    assert len(gradings) == 2
    (name,) = cache.held
    cache.held[name] = replace(report, checks=()).to_json()
    with pytest.raises(AssertionError, match="it was kept, and is another now"):
        KeptVerdicts(cache, "seed").grade(one, double, options, sandbox)


def test_what_only_shows_decides_no_verdict() -> None:
    found = {path.relative_to(ROOT / "grader").parts[0] for path in engine_files()}
    assert {"attention", "grading.py", "suite", "sandbox", "worker"} <= found
    assert found.isdisjoint({"cli", "coach", "hiring", "magic", "outputs", "practice"})


def test_verdict_depends_on_suites_that_are_loaded_by_others() -> None:
    found = [path.name for path in kept._suites(load_kit(ROOT).find("bug3").suite)]
    assert found == ["test_bug3.py", *(f"test_exercise{n}.py" for n in (4, 1, 3, 2))]


def test_numbers_are_drawn_evenly() -> None:
    drawn = [share("seed", str(number)) for number in range(1000)]
    assert 0.45 < sum(drawn) / 1000 < 0.55
    assert 30 < sum(one < 1 / 20 for one in drawn) < 70


def test_every_test_file_is_in_a_lane() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    paths = [ROOT / path for path in settings["pytest"]["ini_options"]["testpaths"]]
    apart = [ROOT / "tests" / name for name in ("answers", "attacks", "public", "suites")]
    for path in (ROOT / "tests").rglob("test_*.py"):
        if not any(path.is_relative_to(one) for one in (*apart, TINY_KIT)):
            assert any(path.is_relative_to(one) for one in paths), path
