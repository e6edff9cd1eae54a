"""The record of one grading."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from grader.records import CheckResult, Difference, Fault, Frame, Report, TensorLocal, Verdict

FAULT = Fault(
    "RuntimeError",
    "shapes",
    (Frame("mine.py", 3, "forward", "q @ k"),),
    (TensorLocal("q", (2, 3), "float32", "cpu"),),
)
DIFFERENCE = Difference("output", 0.5, 1e-5, (0, 1), 1.5, 1.0, 2, 6)
CHECKS = (
    CheckResult("test_hidden_key_has_no_influence", Verdict.PASS, 2),
    CheckResult("test_b", Verdict.FAIL, 3, "Why.", "values differ", DIFFERENCE),
    CheckResult("test_c", Verdict.ERROR, 1, fault=FAULT, output="printed\n"),
    CheckResult("test_d", Verdict.SKIP, 5, message="no GPU"),
)
REPORT = Report(
    "exercise3", "mine.py", "ab" * 32, CHECKS, 42, "cpu", "process", "2026-01-01T00:00:00+00:00",
    0.5, {"torch": "2"},
)  # fmt: skip


def test_report_goes_to_json_and_back() -> None:
    assert Report.from_json(REPORT.to_json()) == REPORT


def test_numbers_that_are_not_finite_go_to_json_and_back() -> None:
    difference = replace(DIFFERENCE, largest=float("inf"), yours=float("-inf"))
    report = replace(REPORT, checks=(replace(CHECKS[1], difference=difference),))
    assert "null" not in report.to_json()[report.to_json().index("largest") :][:60]
    assert Report.from_json(report.to_json()) == report


def test_skipped_check_is_neither_earned_nor_possible() -> None:
    assert (REPORT.earned, REPORT.possible) == (2, 6)
    assert not REPORT.solved
    assert replace(REPORT, checks=(CHECKS[0], CHECKS[3])).solved


def test_score_of_a_file_to_repair_begins_at_what_it_earns_as_given() -> None:
    given = replace(REPORT, begins_at=2)
    assert (given.earned, given.possible) == (0, 4)
    assert not given.solved
    worse = replace(given, checks=CHECKS[1:])
    assert (worse.earned, worse.possible) == (0, 2)
    right = [replace(check, verdict=Verdict.PASS) for check in CHECKS[:3]]
    repaired = replace(given, checks=(*right, CHECKS[3]))
    assert (repaired.earned, repaired.possible) == (4, 4)
    assert repaired.solved
    assert Report.from_json(given.to_json()) == given


def test_nothing_graded_is_not_solved() -> None:
    assert not replace(REPORT, checks=()).solved
    assert not replace(REPORT, checks=(CHECKS[3],)).solved


def test_name_reads_as_a_claim() -> None:
    assert CHECKS[0].claim == "hidden key has no influence"


def test_damaged_json_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        Report.from_json(REPORT.to_json().replace('"pass"', '"perfect"'))
