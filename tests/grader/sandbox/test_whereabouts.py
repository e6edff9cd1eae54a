"""Where a submission was when its time was up is taken out of what it printed."""

from __future__ import annotations

from grader.sandbox.whereabouts import Whereabouts, take_whereabouts

WRITTEN = """Timeout (0:00:01.350000)!
Thread 0x00007f0000000001 (most recent call first):
  File "mine.py", line 99 in beside

Thread 0x00007f0000000002 (most recent call first):
  File "/lib/torch/functional.py", line 12 in einsum
  File "mine.py", line 6 in scores
  File "mine.py", line 9 in forward
  File "/lib/grader/worker/handler.py", line 3 in answer
"""


def test_innermost_line_of_the_main_thread_is_taken_and_nothing_else_is_lost() -> None:
    text, found = take_whereabouts(f"before\n{WRITTEN}after\n", "mine.py")
    assert text == "before\nafter\n"
    assert found == Whereabouts(6, "scores")


def test_output_that_says_nothing_of_it_stays() -> None:
    for text in ("", "Timeout!\n", "Thread 0x1\n  File mine.py\n"):
        assert take_whereabouts(text, "mine.py") == (text, None)


def test_place_in_no_line_of_the_submission_is_none() -> None:
    text, found = take_whereabouts(WRITTEN, "other.py")
    assert (text, found) == ("", None)


def test_much_that_looks_like_it_takes_no_time() -> None:
    text = "Timeout (0:00:01)!\n" * 3000 + '  File "' * 3000
    assert take_whereabouts(text, "mine.py")[1] is None


def test_of_several_dumps_none_is_left_and_the_last_is_read() -> None:
    """On a busy machine a check's requests leave one each, and all but the first were shown."""
    earlier = WRITTEN.replace("line 6", "line 5")
    text, found = take_whereabouts(f"a\n{earlier}b\n{earlier}{WRITTEN}c\n", "mine.py")
    assert text == "a\nb\nc\n"
    assert found == Whereabouts(6, "scores")
