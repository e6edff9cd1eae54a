"""What the benchmarks compare with does the same work."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from benchmarks import pictures
from benchmarks.busy import compare
from grader.kit import load_kit

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["warmup1", "exercise1", "exercise3"])
def test_plain_pytest_of_a_suite_passes_the_solution(name: str) -> None:
    exercise = load_kit(ROOT).find(name)
    pytest_of_it = [sys.executable, "-m", "pytest", "-q", "-p", "in_process", "-W", "ignore"]
    settings = ["-c", str(ROOT / "grader/suite/suite.ini")]
    done = subprocess.run(
        [*pytest_of_it, *settings, str(exercise.suite)],
        env={
            **os.environ,
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


def test_pages_show_the_pictures_that_the_command_makes_light_and_dark() -> None:
    made = {
        (pictures.file_name(name, "light"), pictures.file_name(name, "dark"))
        for name in pictures.NAMES
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
        source = (pictures.ANSWERS / answer).read_text(encoding="utf-8")
        assert not edit or source.count(edit[0]) == 1, answer
