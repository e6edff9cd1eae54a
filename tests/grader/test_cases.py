"""Golden cases: submissions of every kind, each with what must come of it in its first lines.

A line ``# test_three_numbers: error: some text`` gives the check's verdict and a part of its
message; ``# problem: some text`` a part of what is said once for the whole file.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.kit import Kit
from grader.records import Verdict
from grader.sandbox.process import Sandbox
from grader.submission import read_submission
from tests.support.paths import CASES

CASES = sorted(CASES.glob("*.py"))


def expectations(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = itertools.takewhile(lambda line: line.startswith("# "), lines)
    return dict(line[2:].split(": ", 1) for line in comments)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_is_graded_as_it_says(path: Path, kit: Kit, sandbox: Sandbox) -> None:
    report = grade(
        read_submission(path), kit.find("double"), Options(timeout=1.5, device="cpu"), sandbox
    )
    checks = {check.name: check for check in report.checks}
    for name, expected in expectations(path).items():
        if name == "problem":
            assert expected in report.problem
            assert {check.verdict for check in report.checks} <= {Verdict.ERROR, Verdict.TIMEOUT}
            continue
        verdict, _, text = expected.partition(": ")
        check = checks[name]
        assert check.verdict == verdict, check
        assert text in check.message, check.message
    assert len(checks) == 3
    assert len(report.to_json()) < 1_000_000
