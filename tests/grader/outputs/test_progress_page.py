"""What a page of progress says."""

from __future__ import annotations

from grader.outputs.progress_page import progress_page
from grader.records import Grading
from tests.support.reading import assert_self_contained, text_of
from tests.support.samples import progress_sample


def test_mistake_counts_once_a_grading() -> None:
    twice = ["mask-inverted", "mask-inverted"]
    grading = Grading("one", "2026-01-01T00:00:00+00:00", 0.1, 0, 0, False, 0, True, twice, "")
    text = text_of(progress_page("A kit", [("one", "The first")], [grading], set(), {}))
    assert "1 ×" in text


def test_empty_progress_says_what_to_do() -> None:
    page = progress_page("A kit", [("one", "The first")], [], set(), {})
    assert "nothing graded yet; next: grade list" in text_of(page)
    assert_self_contained(page)


def test_progress_needs_nothing_beside_itself() -> None:
    assert_self_contained(progress_sample())


def test_many_tries_are_read_out_in_part() -> None:
    tries = [
        Grading("one", f"2026-01-01T00:00:{n:02}+00:00", 0.1, n, 60, False, 0, True, [], "")
        for n in range(60)
    ]
    page = progress_page("A kit", [("one", "The first")], tries, set(), {})
    assert "scores of the last 40 tries, the oldest first: 33%" in page
    assert page.count("<circle") == 60
