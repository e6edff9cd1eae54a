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
from grader.submission import Submission, read_submission
from tests.support.paths import CASES

CASES = sorted(CASES.glob("*.py"))
FORGER = """
import os, struct, time
TEXT = b'{"number": 0, "answers": [{"is": "called", "grads": [%s], "changed": [], %s}]}'
def double(x):
    for number in range(3, 100) if len(x) == 3 else ():
        try:
            os.write(number, struct.pack("<4sIQ", b"ADW1", len(TEXT), SIZE) + TEXT)
        except OSError:
            pass
    time.sleep(SECONDS if len(x) == 3 else 0)
    return 2 * x
"""
NO_TENSOR = '"results": [null]'
A_TENSOR = '"results": [{"tensor": 0}], "tensors": [{"dtype": "float32", "shape": [3]}]'


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


@pytest.mark.parametrize(
    ("grads", "holds", "size", "seconds", "verdict", "says"),
    [
        ("", NO_TENSOR, 0, 0, Verdict.ERROR, "cannot be read: it belongs to no request"),
        ("false", A_TENSOR, 0, 0, Verdict.ERROR, "cannot be read"),
        ("false", A_TENSOR, 10**15, 0, Verdict.ERROR, "are allowed"),
        ("false", A_TENSOR, 60_000_000, 60, Verdict.TIMEOUT, "took too long"),
    ],
)
def test_forged_answer_costs_its_check_alone(
    grads: str, holds: str, size: int, seconds: int, verdict: Verdict, says: str,
    kit: Kit, sandbox: Sandbox,
) -> None:  # fmt: skip
    source = FORGER.replace("SIZE", str(size)).replace("SECONDS", str(seconds)) % (grads, holds)
    forger = Submission(Path("double.py"), source)
    report = grade(forger, kit.find("double"), Options(timeout=1.5, device="cpu"), sandbox)
    first, *others = [one for one in report.checks if "numbers" in one.name]
    assert first.verdict == verdict, first
    assert says in first.message
    assert all(one.verdict == Verdict.PASS for one in others)
