"""The command in a learner's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli import run_command

Grade = Callable[..., tuple[int, str, str]]


@pytest.fixture
def grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Grade:
    """Run the command in a learner's fresh folder; its exit code, output and errors."""

    def run(*words: object) -> tuple[int, str, str]:
        code = run_command([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    assert run("init", "drills")[0] == 0
    monkeypatch.chdir(tmp_path / "drills")
    return run
