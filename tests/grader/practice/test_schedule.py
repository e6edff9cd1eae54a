"""A solved exercise comes back when it is due, and sooner if it was forgotten; time is injected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fsrs import Rating

from grader.kit import Kit, installed_kit
from grader.practice.agenda import Reason, choose_next_exercise, due, due_later
from grader.practice.history import Event, History
from grader.practice.schedule import Sitting, sittings, standings
from grader.records import CheckResult, Report, Verdict

KIT = installed_kit()
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite") as history:
        yield history


@pytest.fixture
def kit() -> Kit:
    return installed_kit()


def grade(
    history: History, at: datetime, solved: bool, name: str = "warmup1", todo: bool = False
) -> None:
    verdict = Verdict.PASS if solved else Verdict.TODO if todo else Verdict.FAIL
    report = Report(
        *(name, "x.py", "", (CheckResult("test_x", verdict, 1),), 1, "cpu", "full"),
        *(at.isoformat(timespec="milliseconds"), 0.1, {}),
    )
    history.record(report, "written", own=True)


def solve(history: History, at: datetime, minutes: int = 15, name: str = "warmup1") -> None:
    """From the stub to a full score in so many minutes."""
    history.record_event(name, Event.RESET, at)
    grade(history, at + MINUTE, solved=False, name=name)
    grade(history, at + minutes * MINUTE, solved=True, name=name)


def due_after(history: History, now: datetime, name: str = "warmup1") -> timedelta:
    found = standings(KIT, history, now)[name].due
    assert found is not None
    return found - now


def test_solved_exercise_comes_back_when_it_is_due(history: History, kit: Kit) -> None:
    solve(history, START)
    now = START + HOUR
    assert due(standings(KIT, history, now), now) == []
    when, one = due_later(standings(KIT, history, now), now)[0]
    assert one.exercise == "warmup1"
    assert when - now > DAY
    for later, reason in ((when - MINUTE, Reason.NEW), (when + MINUTE, Reason.DUE)):
        turn = choose_next_exercise(kit, standings(KIT, history, later), later)
        assert turn is not None
        assert turn.reason is reason
        assert (turn.exercise.name == "warmup1") is (reason is Reason.DUE)


def test_each_good_review_puts_it_off_further(history: History) -> None:
    now, gaps = START, []
    for _ in range(4):
        solve(history, now)
        gaps.append(due_after(history, now + HOUR))
        now += HOUR + gaps[-1]
    assert gaps == sorted(gaps)
    assert gaps[-1] > 10 * gaps[0]


def test_failed_review_comes_back_sooner(history: History) -> None:
    solve(history, START)
    now = START + 3 * DAY
    solve(history, now)
    good = due_after(history, now + DAY)
    again = now + 20 * DAY
    history.record_event("warmup1", Event.RESET, again)
    grade(history, again + MINUTE, solved=False)
    late = again + DAY
    assert standings(KIT, history, late)["warmup1"].solved is not None
    assert due_after(history, late) < good
    assert due_after(history, late) < 5 * DAY


@pytest.mark.parametrize(
    ("change", "rating"),
    [
        ({}, Rating.Good),
        ({"ended": START + 3 * MINUTE}, Rating.Easy),
        ({"ended": START + 45 * MINUTE}, Rating.Hard),
        ({"hints": 1}, Rating.Hard),
        ({"tries": 20}, Rating.Hard),
        ({"revealed": True}, Rating.Again),
        ({"solved": False}, Rating.Again),
    ],
)
def test_rating_is_from_score_hints_and_time(change: dict[str, object], rating: Rating) -> None:
    usual = Sitting(START, START + 15 * MINUTE, tries=2, solved=True)
    assert replace(usual, **change).rating is rating  # type: ignore[arg-type]  # as the cases say


def test_grading_what_is_solved_once_more_is_no_review(history: History) -> None:
    solve(history, START)
    before = standings(KIT, history, START + 9 * DAY)["warmup1"]
    grade(history, START + 8 * DAY, solved=True)  # `grade all`
    assert standings(KIT, history, START + 9 * DAY)["warmup1"] == before


def test_exercise_under_way_comes_first_and_what_was_left_is_a_failed_try(
    history: History, kit: Kit
) -> None:
    solve(history, START)
    now = START + 30 * DAY
    grade(history, now, solved=False, name="exercise3")
    turn = choose_next_exercise(kit, standings(KIT, history, now + HOUR), now + HOUR)
    assert turn is not None
    assert (turn.exercise.name, turn.reason) == ("exercise3", Reason.UNDER_WAY)
    turn = choose_next_exercise(kit, standings(KIT, history, now + DAY), now + DAY)
    assert turn is not None
    assert (turn.exercise.name, turn.reason) == ("warmup1", Reason.DUE)
    assert standings(KIT, history, now + DAY)["exercise3"].due is None  # nothing to forget yet


def test_the_most_forgotten_comes_first(history: History) -> None:
    solve(history, START, name="warmup2")
    solve(history, START + 9 * DAY, name="warmup1")
    now = START + 30 * DAY
    assert [one.exercise for one in due(standings(KIT, history, now), now)] == [
        "warmup2",
        "warmup1",
    ]


def test_all_solved_and_nothing_due(history: History, kit: Kit) -> None:
    for exercise in kit.exercises:
        solve(history, START, name=exercise.name)
    assert choose_next_exercise(kit, standings(KIT, history, START + HOUR), START + HOUR) is None


def test_looking_at_the_solution_counts_against_a_try(history: History) -> None:
    solve(history, START)
    again = START + 5 * DAY
    history.record_event("warmup1", Event.RESET, again)
    history.record_event("warmup1", Event.REVEALED, again + MINUTE)
    grade(history, again + 2 * MINUTE, solved=True)
    gradings = history.gradings("warmup1")
    events = [(kind, at) for _, kind, at in history.events()]
    assert [sitting.rating for sitting in sittings(gradings, events)] == [Rating.Good, Rating.Again]


def test_a_stub_alone_is_no_try(history: History) -> None:
    grade(history, START, solved=False, todo=True)
    assert standings(KIT, history, START + DAY)["warmup1"].solved is None
    assert sittings(history.gradings(), []) == []


def test_reset_begins_hints_anew(history: History, kit: Kit) -> None:
    exercise = kit.find("exercise3")
    assert len(history.next_hint(exercise)) == 1
    assert len(history.next_hint(exercise)) == 2
    history.record_event("exercise3", Event.RESET)
    assert history.hints("exercise3") == 0


def test_history_keeps_renamed_exercises(history: History) -> None:
    solve(history, START, name="attention9")
    history.show_hints("attention9", 2)
    history.rename({"attention9": "exercise9", "never": "was"})
    assert history.solved() == {"exercise9"}
    assert history.hints("exercise9") == 2
    assert {name for name, *_ in history.events()} == {"exercise9"}


def test_untouched_file_to_repair_is_no_try(history: History, kit: Kit) -> None:
    exercise = kit.find("bug1")
    report = Report(
        *("bug1", "x.py", "", (CheckResult("test_x", Verdict.FAIL, 1),), 1, "cpu", "full"),
        *(START.isoformat(), 0.1, {}),
    )
    history.record(report, exercise.stub.read_text(encoding="utf-8"), own=True)
    assert standings(KIT, history, START) == {}


def test_exercise_that_the_kit_no_longer_has_is_not_due(history: History) -> None:
    solve(history, START, name="gone")
    assert standings(KIT, history, START + 400 * DAY) == {}
