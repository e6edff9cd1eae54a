"""Contracts of many kinds: the right answer earns everything, and no wrong one does."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from grader.records import CheckResult, Verdict
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.submission import Submission
from grader.suite.runner import suite_runner

CONTRACTS = sorted(path.parent for path in (Path(__file__).parent / "contracts").glob("*/suite.py"))


def wrong_ones(folder: Path) -> dict[str, tuple[str, str]]:
    text = (folder / "wrong.toml").read_text(encoding="utf-8")
    return {name: (old, new) for name, (old, new) in tomllib.loads(text)["wrong"].items()}


def graded(folder: Path, source: str, sandbox: Sandbox) -> list[CheckResult]:
    session = Session(sandbox, Submission(folder / "right.py", source), 10.0, 60.0)
    try:
        return suite_runner(folder / "suite.py").run(session, seed=1, device="cpu")
    finally:
        session.close()


@pytest.mark.parametrize("folder", CONTRACTS, ids=lambda folder: folder.name)
def test_right_answer_earns_everything(folder: Path, sandbox: Sandbox) -> None:
    source = (folder / "right.py").read_text(encoding="utf-8")
    lost = [c for c in graded(folder, source, sandbox) if c.verdict is not Verdict.PASS]
    assert not lost, lost


@pytest.mark.parametrize(
    ("folder", "name"),
    [(folder, name) for folder in CONTRACTS for name in wrong_ones(folder)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_wrong_answer_loses_points(folder: Path, name: str, sandbox: Sandbox) -> None:
    source = (folder / "right.py").read_text(encoding="utf-8")
    old, new = wrong_ones(folder)[name]
    assert source.count(old) == 1
    checks = graded(folder, source.replace(old, new), sandbox)
    assert any(check.verdict in (Verdict.FAIL, Verdict.ERROR) for check in checks)


def test_seven_contracts_have_eight_wrong_answers_each() -> None:
    assert [len(wrong_ones(folder)) for folder in CONTRACTS] == [8] * 7
