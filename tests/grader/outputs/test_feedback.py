"""What a candidate's page of feedback tells at each depth, and what at none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from grader.outputs.feedback import feedback_page
from grader.records import (
    Cause,
    CheckResult,
    Difference,
    Fault,
    FeedbackDepth,
    Frame,
    GradebookRow,
    Report,
    Score,
    Status,
    Verdict,
)
from tests.support.reading import assert_self_contained, text_of
from tests.support.samples import made_report

GAP = Difference("output", 0.731, 1e-5, (0, 1), 4.417, 5.148, 3, 6)
FAULT = Fault("ValueError", "printed 9.99", (Frame("mine.py", 7, "forward", "raise secret"),))
CHECKS = (
    CheckResult("test_first_is_right", Verdict.PASS, 2),
    CheckResult(
        *("test_scores_are_scaled", Verdict.FAIL, 3, "Large scores starve gradients."),
        *("3 of 6 values differ", GAP),
        output="printed 9.99",
    ),
    CheckResult("test_mask_is_kept", Verdict.ERROR, 1, message="ValueError: 9.99", fault=FAULT),
)
CAUSE = Cause("the scores are not scaled", "Divide by the root.", ("test_scores_are_scaled",))
REPORT = made_report(*CHECKS, seed=77123, cause=CAUSE, output="printed 9.99")
NOTE = "found in `solution.py`"
ROW = GradebookRow("Ada", 1 / 3, [Score(2, 6, Status.GRADED, (), NOTE)])
EVERY_DEPTH = pytest.mark.parametrize("depth", FeedbackDepth)


def page(
    depth: FeedbackDepth, report: Report = REPORT, explained: Collection[str] = ("double",)
) -> str:
    return feedback_page("A title", ["double"], ROW, [report], explained, depth)


@EVERY_DEPTH
def test_no_depth_shows_values_sources_or_seeds(depth: FeedbackDepth) -> None:
    told = page(depth)
    assert_self_contained(told)
    for secret in ("0.731", "4.417", "5.148", "9.99", "77123", "raise secret", "mine.py", "differ"):
        assert secret not in told, secret


@EVERY_DEPTH
def test_every_depth_tells_total_and_points(depth: FeedbackDepth) -> None:
    told = text_of(page(depth))
    assert "33 of 100" in told
    assert "2 of 6 points" in told
    assert "graded" in told


def test_score_alone_tells_nothing_of_checks_or_of_the_file() -> None:
    told = page(FeedbackDepth.SCORE)
    assert not any(check.claim in told for check in CHECKS)
    assert '<span class="verdict' not in told
    assert "solution.py" not in told


def test_points_of_the_file_as_given_are_said_not_to_count_where_they_are_listed() -> None:
    """The rows added up to 29 below "17 of 17"."""
    begun = replace(REPORT, begins_at=2)
    said = "not counting the 2 that the file as given earns"
    assert said in text_of(page(FeedbackDepth.CHECKS, begun))
    assert said not in text_of(page(FeedbackDepth.SCORE, begun))
    assert "not counting" not in text_of(page(FeedbackDepth.CHECKS))


def test_checks_are_told_in_plain_words_without_the_mistake() -> None:
    told = text_of(page(FeedbackDepth.CHECKS))
    assert all(check.claim in told for check in CHECKS)
    assert "Large scores starve gradients." in told
    assert "ValueError in line 7" in told
    assert "found in solution.py" in told
    assert "not scaled" not in told
    assert "Divide" not in told
    assert "follow" not in told  # which says that one mistake is known


def test_type_that_a_file_makes_up_is_not_told() -> None:
    """A file named its exception's type after the numbers of its input."""
    fault = replace(FAULT, type="0.731,4.417")
    told = text_of(page(FeedbackDepth.CHECKS, made_report(replace(CHECKS[2], fault=fault))))
    assert "0.731" not in told
    assert "an exception in line 7" in told


def test_cause_tells_the_mistake_its_advice_and_what_follows() -> None:
    told = text_of(page(FeedbackDepth.CAUSE))
    assert "the scores are not scaled" in told
    assert "Divide by the root." in told
    assert "1 check that follows from it" in told


@EVERY_DEPTH
def test_file_to_repair_gives_its_mistake_away_at_no_depth(depth: FeedbackDepth) -> None:
    told = text_of(page(depth, explained=()))
    assert "not scaled" not in told
    assert "scores are scaled" not in told


@EVERY_DEPTH
def test_file_that_could_not_be_tried_has_no_checks(depth: FeedbackDepth) -> None:
    told = page(depth, replace(REPORT, problem="does not parse: invalid syntax", cause=None))
    assert '<span class="verdict' not in told
