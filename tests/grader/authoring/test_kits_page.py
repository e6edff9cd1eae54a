"""`docs/kits.md` is so: its commands run, its blocks grade."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from grader.cli import run_command
from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Explain, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
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


def test_every_file_that_the_page_names_is_laid_out(tmp_path: Path) -> None:
    assert run_command(["kit", "new", str(tmp_path / "kit")]) == 0
    named = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert len(named) == 7
    for name in named:
        assert list((tmp_path / "kit").glob(name)), name
