"""What a candidate's page adds up by idea, and what it says to talk about."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from grader.kit import Kit, installed_kit
from grader.outputs.batch_ideas import (
    DEFAULT_IDEA,
    IdeaScore,
    idea_of,
    names_of,
    points_by_idea,
    why,
)
from grader.outputs.batch_sheet import (
    MAX_LOST_IDEA_QUESTIONS,
    MAX_QUESTIONS,
    describe_source,
    draw_sheet,
    read_questions,
)
from grader.records import Cause, CheckResult, Fault, GradebookRow, Score, Status, Verdict
from tests.support.samples import made_report
from tests.support.wrong import wrong_versions

KIT = installed_kit()
IDEAS = {"mask": ["mask", "hidden"], "scale": ["divided"]}
PASSED = CheckResult("test_scores_are_divided_by_two", Verdict.PASS, 3)
LOST = CheckResult("test_hidden_key_has_no_influence", Verdict.FAIL, 2)
OTHER = CheckResult("test_unmasked_is_none_of_it", Verdict.PASS, 1)


def test_check_is_about_the_first_idea_of_which_a_word_begins_in_its_name() -> None:
    assert [idea_of(one.name, IDEAS) for one in (PASSED, LOST, OTHER)] == [
        "scale",
        "mask",
        DEFAULT_IDEA,
    ]


def test_points_are_added_up_in_the_kits_order_and_skips_count_for_nothing() -> None:
    skipped = CheckResult("test_mask_is_wide", Verdict.SKIP, 9)
    found = points_by_idea(
        [made_report(PASSED, LOST, OTHER, skipped), made_report(problem="no Python")], IDEAS
    )
    assert list(found.items()) == [
        ("mask", IdeaScore(0, 2)),
        ("scale", IdeaScore(3, 3)),
        (DEFAULT_IDEA, IdeaScore(1, 1)),
    ]
    assert points_by_idea([made_report(LOST)], {}) == {}


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (Score(1, 2, Status.GRADED, ("not-scaled",)), "not-scaled"),
        (Score(1, 2, Status.GRADED), "loses points in a, b, c, d and 1 more"),
        (Score(0, 2, Status.AS_SENT), ""),
    ],
)
def test_why_is_said_in_a_few_words(score: Score, says: str) -> None:
    lost = dict.fromkeys("abcde", IdeaScore(0, 1))
    assert why(GradebookRow("ann", 0.5, [score]), lost | {"f": IdeaScore(1, 1)}) == says


def test_why_says_what_most_checks_end_by_rather_than_every_idea() -> None:
    """An endless loop lost points in "dropout, scale, softmax, mask and 3 more"."""
    row = GradebookRow("ann", 0.5, [Score(1, 9, Status.GRADED)])
    late = replace(LOST, verdict=Verdict.TIMEOUT)
    raised = replace(LOST, verdict=Verdict.ERROR, fault=Fault("RuntimeError", "no memory"))
    lost = {"mask": IdeaScore(0, 2)}

    def said(*checks: CheckResult) -> str:
        return why(row, lost, [made_report(PASSED, *checks)])

    assert said(late, late, LOST) == "takes too long"
    assert said(raised, raised, late) == "raises RuntimeError"
    assert said(LOST, LOST, late, raised) == "loses points in mask"
    assert why(row, lost, [made_report(late, problem="no Python")]) == "loses points in mask"


def test_every_idea_of_ours_has_questions_and_a_check() -> None:
    asked = {one.idea for one in read_questions(KIT.questions)}
    assert asked | {"formula"} == set(names_of(KIT.ideas))
    suites = "".join(one.suite.read_text(encoding="utf-8") for one in KIT.exercises)
    names = re.findall(r"^(?:def )?(test_\w+)", suites, re.MULTILINE)
    assert {idea_of(name, KIT.ideas) for name in names} == set(names_of(KIT.ideas))


def test_questions_are_about_what_was_lost_then_about_the_rest_and_the_same_each_time() -> None:
    dropped = CheckResult("test_dropout_rescales_what_it_keeps", Verdict.FAIL, 2)
    report = replace(made_report(PASSED, LOST, dropped, OTHER), exercise="exercise3")
    first = draw_sheet(KIT, [(report, "x = 1")], points_by_idea([report], KIT.ideas))
    assert len(first.questions) == MAX_QUESTIONS
    about = [one.idea for one in first.questions]
    assert {"mask", "dropout"} <= set(about[:MAX_LOST_IDEA_QUESTIONS]) <= {"mask", "dropout"}
    assert set(about[MAX_LOST_IDEA_QUESTIONS:]) == {"scale", DEFAULT_IDEA}
    assert first == draw_sheet(KIT, [(report, "x = 1")], points_by_idea([report], KIT.ideas))
    others = [
        draw_sheet(KIT, [(report, f"x = {n}")], points_by_idea([report], KIT.ideas)).questions
        for n in range(9)
    ]
    assert any(one != first.questions for one in others)


def test_mistake_to_find_is_the_one_that_was_found_else_one_that_loses_the_same() -> None:
    report = replace(made_report(LOST, PASSED), exercise="exercise3")
    known = {one.mistake.name: one.mistake for one in wrong_versions(KIT.find("exercise3"))}
    named = replace(report, diagnosis=(("scaled-by-the-sequence-length",),))
    planted = draw_sheet(KIT, [(named, "")], {}).planted
    assert planted is not None
    assert (planted.name, planted.is_own_mistake) == ("scaled by the sequence length", True)
    assert [line[0] for line in planted.changed] == ["-", "+"]
    planted = draw_sheet(KIT, [(report, "")], {}).planted
    assert planted is not None
    assert known[planted.name].loses == LOST.name
    planted = draw_sheet(
        KIT, [(replace(made_report(PASSED), exercise="exercise3"), "")], {}
    ).planted
    assert planted is not None
    assert not planted.is_own_mistake


def test_what_broke_it_stands_for_itself(kit: Kit) -> None:
    follows = replace(LOST, name="test_a")
    report = made_report(follows, PASSED, LOST, cause=Cause("it is wrong", "", ("test_a",)))
    (broke,) = draw_sheet(kit, [(replace(report, exercise="double"), "")], {}).first_failures
    assert broke.check == LOST
    right = replace(made_report(PASSED), exercise="double")
    assert draw_sheet(kit, [(right, "")], {}).first_failures == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f(x):\n\n    return x.softmax(-1) @ x.mT\n", "2 lines; defines `f`; calls `softmax`"),
        ("def f(x:\n", "no Python"),
        ("x = 1", "1 line; defines nothing"),
        ("(" * 9000, "no Python"),
    ],
)
def test_file_is_described(source: str, says: str) -> None:
    assert describe_source(source) == says
