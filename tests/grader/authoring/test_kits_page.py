"""`docs/kits.md` is so: its commands run, its blocks grade."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from grader.authoring.answers import read_answers
from grader.authoring.sentences import entries_in
from grader.cli import run_command
from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Explain, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from grader.suite import checks_of, load_suite
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "kits.md").read_text(encoding="utf-8")
RIGHT = """
import torch


def weighted_mean(x, w):
    return torch.einsum("btc,bt->bc", x, w) / w.sum(-1, keepdim=True)
"""


@pytest.mark.slow("gradings at two seeds of all that a kit has")
def test_commands_give_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (session,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for line in session.splitlines():
        if not line.startswith("$ "):
            assert line in capsys.readouterr().out
        elif line.startswith("$ cd "):
            monkeypatch.chdir(line.removeprefix("$ cd "))
        else:
            assert run_command(shlex.split(line)[2:]) == 0
    assert "12 / 12" in capsys.readouterr().out


def test_suite_of_the_page_grades(tmp_path: Path, sandbox: Sandbox) -> None:
    home = tmp_path / "kit"
    assert run_command(["kit", "new", str(home)]) == 0
    assert run_command(["kit", "add", "weighted_mean", "--kit", str(home)]) == 0
    exercise = load_kit(home).find("weighted_mean")
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exercise.suite.write_text("\n\n".join(blocks), encoding="utf-8")
    options = Options(1, explain=Explain.NOTHING)
    report = grade(Submission(Path("weighted_mean.py"), RIGHT), exercise, options, sandbox)
    assert report.solved, report
    assert len(report.checks) == 5
    unweighted = RIGHT.replace('einsum("btc,bt->bc", x, w) / w.sum(-1, keepdim=True)', "mean(x, 1)")
    report = grade(Submission(Path("weighted_mean.py"), unweighted), exercise, options, sandbox)
    lost = {check.name for check in report.checks if check.verdict is Verdict.FAIL}
    assert "test_output_matches_the_formula" in lost
    assert "test_equal_weights_are_no_weights" not in lost


def test_sentences_and_edits_of_the_page_are_so(tmp_path: Path) -> None:
    home = tmp_path / "kit"
    assert run_command(["kit", "new", str(home)]) == 0
    exercise = load_kit(home).find("unit_rows")
    said, told, edits = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    known = entries_in(home / "tests/answers/unit_rows.sentences")
    file = tmp_path / "page.sentences"
    file.write_text(said, encoding="utf-8")
    shown = entries_in(file)
    assert len(shown) == 2
    for one in shown:
        (same,) = [other for other in known if other.says == one.says]
        assert {*one.held} <= {*same.held}
        assert one.nothing == same.nothing
    (home / "tests/answers/unit_rows.answers").write_text(edits, encoding="utf-8")
    (wrong,) = [one for one in read_answers(exercise) if one.kind == "wrong"]
    assert wrong.loses <= {*checks_of(load_suite(str(exercise.suite), exercise.suite.name))}
    (listed,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (change,) = tomllib.loads(listed)["unit_rows"]
    assert f"`{change}`" in told


def test_every_file_that_the_page_names_is_laid_out(tmp_path: Path) -> None:
    assert run_command(["kit", "new", str(tmp_path / "kit")]) == 0
    named = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert len(named) == 8
    for name in named:
        assert list((tmp_path / "kit").glob(name)), name
