"""What the benchmarks compare with does the same work."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text

from benchmarks import gpu, pictures
from benchmarks.busy import compare
from benchmarks.gpu_files import differences
from grader.kit import load_kit
from grader.records import CheckResult, Verdict
from tests.support.answers import find
from tests.support.paths import ROOT


@pytest.mark.exhaustive
@pytest.mark.slow("a whole suite without what its checks share")
@pytest.mark.parametrize("name", ["warmup1", "exercise3"])
def test_plain_pytest_of_a_suite_passes_the_solution(name: str) -> None:
    exercise = load_kit(ROOT).find(name)
    pytest_of_it = [sys.executable, "-m", "pytest", "-q", "-p", "in_process", "-W", "ignore"]
    settings = ["-c", str(ROOT / "grader/suite/suite.ini")]
    done = subprocess.run(
        [*pytest_of_it, *settings, str(exercise.suite)],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")]),
            "SUBMISSION": str(exercise.solution),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_what_differs_beside_busy_loops_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    runs = iter([{"a": "passed", "b": "passed"}, {"a": "passed", "b": "failure"}])
    assert compare("tests", lambda: next(runs)) == 1
    said = capsys.readouterr().out
    assert "  b: passed in quiet, then failure\ntests: 1 of 2 differ\n" in said
    again = iter([{"a": "passed"}] * 2)
    assert compare("tests", lambda: next(again)) == 0


def test_benchmark_of_a_gpu_says_in_one_line_that_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "first_gpu", lambda: None)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    assert gpu.main() == 2
    assert re.fullmatch("there is no GPU .*\n", capsys.readouterr().out)


def test_figure_that_is_not_as_asked_shows(capsys: pytest.CaptureFixture[str]) -> None:
    table = gpu.Table()
    table.row("a", 2, "at most 3", holds=True)
    assert table.holds

    def fails() -> list[str]:
        raise RuntimeError("no room")

    table.trial("b", "nothing", fails)
    assert not table.holds
    said = capsys.readouterr().out
    assert "RuntimeError: no room" in said
    assert [line.endswith("NOT AS ASKED") for line in said.splitlines()] == [False, True]


def report_of(**verdicts: Verdict) -> Any:
    checks = [CheckResult(f"test_{name}", verdict, 1) for name, verdict in verdicts.items()]
    return SimpleNamespace(checks=checks)


def test_other_verdicts_are_told_unless_a_tensor_strays() -> None:
    passed, fail, error = Verdict.PASS, Verdict.FAIL, Verdict.ERROR
    one = report_of(value=passed, mask=fail)
    assert differences(one, report_of(value=passed, mask=fail)) == []
    (told,) = differences(one, report_of(value=passed, mask=error))
    assert told.startswith("test_mask: fail on the CPU, then error")
    strays = report_of(value=passed, is_pinned=fail)
    assert differences(strays, report_of(value=error, is_pinned=error)) == []
    (told,) = differences(strays, report_of(value=error, is_pinned=passed))
    assert told.startswith("test_is_pinned: fail on the CPU, then pass")


def test_pages_show_the_pictures_that_the_command_makes_light_and_dark() -> None:
    made = {
        (pictures.file_name(name, "light"), pictures.file_name(name, "dark"))
        for name in pictures.PICTURE_NAMES
    }
    shown = []
    for page in ("README.md", "docs/hiring.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        found = re.findall(
            r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">'
            r'<img src="([^"]+)" width="760" alt="[^"]+"></picture>',
            text,
        )
        assert len(found) == text.count("<img"), page
        folder = (ROOT / page).parent
        shown += [(folder / light, folder / dark) for dark, light in found]
    assert {(light.name, dark.name) for light, dark in shown} == made
    files = set(itertools.chain(*shown))
    assert files == {*ROOT.glob("docs/*.svg"), *ROOT.glob("docs/*.png")}
    assert all(file.stat().st_size < 150_000 for file in files)


def test_picture_of_a_terminal_has_the_colours_of_its_theme_and_loads_nothing() -> None:
    text = Text.assemble(("fail", "red"), " √head_dim")
    drawn = {theme: pictures.svg(text, "grade", theme) for theme in ("light", "dark")}
    assert "#b3261e" in drawn["light"]
    assert "#ff9186" in drawn["dark"]
    for picture in drawn.values():
        assert "√head_dim" in picture.replace("&#160;", " ")
        assert not re.search(r"url\((?!#)|href|@font-face", picture)


def test_every_candidate_of_the_pictures_batch_gets_what_is_edited() -> None:
    for answer, *edit in (made for made in pictures.CANDIDATES.values() if made):
        exercise = load_kit(ROOT).find(pictures.EXERCISE)
        source = find(exercise, answer).submission.source
        assert not edit or source.count(edit[0]) == 1, answer
