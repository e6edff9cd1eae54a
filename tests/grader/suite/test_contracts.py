"""Contracts of many kinds: the right answer earns everything, and no wrong one does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.records import CheckResult, Verdict
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Sizes, claims
from grader.suite.compare import CheckFailed
from tests.support.checked import checks_of
from tests.support.drawing import sampled
from tests.support.paths import CONTRACTS

CONTRACTS = sorted(path.parent for path in CONTRACTS.glob("*/suite.py"))


def wrong_ones(folder: Path) -> list[EditMistake]:
    return read_edits(folder / "wrong.toml")


def graded(folder: Path, source: str, sandbox: Sandbox) -> list[CheckResult]:
    return checks_of(folder / "suite.py", source, sandbox)


@pytest.mark.parametrize("folder", CONTRACTS, ids=lambda folder: folder.name)
def test_right_answer_earns_everything(folder: Path, sandbox: Sandbox) -> None:
    source = (folder / "right.py").read_text(encoding="utf-8")
    lost = [c for c in graded(folder, source, sandbox) if c.verdict is not Verdict.PASS]
    assert not lost, lost


@sampled("wrong answers to contracts", 15)
@pytest.mark.parametrize(
    ("folder", "mistake"),
    [(folder, mistake) for folder in CONTRACTS for mistake in wrong_ones(folder)],
    ids=lambda value: value.name,
)
def test_wrong_answer_loses_the_check_that_names_it(
    folder: Path, mistake: EditMistake, sandbox: Sandbox
) -> None:
    source = edited((folder / "right.py").read_text(encoding="utf-8"), [mistake])
    assert source is not None
    verdicts = {check.name: check.verdict for check in graded(folder, source, sandbox)}
    assert verdicts[mistake.loses] in (Verdict.FAIL, Verdict.ERROR), verdicts


def test_seven_contracts_have_ten_wrong_answers_each() -> None:
    assert [len(wrong_ones(folder)) for folder in CONTRACTS] == [10] * 7


def test_extra_tolerance_holds_in_float64_as_well(begin: Callable[[str], Session]) -> None:
    session = begin("def same(x):\n    return x + 1e-8\n")
    sizes = (Sizes(B=2, T=3, C=5),)
    strict = Contract(entry="same", sizes=sizes, oracle=lambda w, sizes, x: x, tried=False)
    loose = replace(strict, extra_tolerance=lambda x: 1e-7)
    claims.computes_in_float64(Harness(loose, session, Draw(1), {}))
    with pytest.raises(CheckFailed, match="in float64"):
        claims.computes_in_float64(Harness(strict, session, Draw(1), {}))
