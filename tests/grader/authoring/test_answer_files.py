"""Files of answers: what they say is what is graded, or nothing is."""

from __future__ import annotations

import pytest

from grader.authoring.answer_files import AnswersMistake, Edit, read_entries, source_of

BASE = '''"""What it is."""
import torch

def f(x):
    """Twice."""
    y = x + 1  # one more
    if x.any():
        y = y * 2
    return y
'''
TEXT = """Answers.

== whole
# the base
import torch
def f(x):
    return x

== wrong_it < whole
# adds one, and more than
# that
# loses: test_a test_b
# accepted: nobody sees it
-    return x
+    return x + 1

== wrong_that < solution
 def f(x):
~
-    return y
+    return x

== wrong_both < wrong_it
-import torch
"""


def test_entries_are_what_their_text_says_and_come_back() -> None:
    found = read_entries(TEXT)
    assert [*found] == ["whole", "wrong_it", "wrong_that", "wrong_both"]
    it = found["wrong_it"]
    assert it.known == {
        "what": "adds one, and more than that",
        "loses": "test_a test_b",
        "accepted": "nobody sees it",
    }
    assert source_of(it, found, "") == "import torch\ndef f(x):\n    return x + 1\n"
    assert source_of(found["wrong_that"], found, BASE).endswith("def f(x):\n    return x\n")
    assert source_of(found["wrong_both"], found, "") == "def f(x):\n    return x + 1\n"
    assert it.edits == [Edit(("    return x",), ("    return x + 1",))]
    again = read_entries("Answers.\n\n" + "\n".join(entry.text() for entry in found.values()))
    assert {n: (e.base, e.known, e.edits) for n, e in again.items()} == {
        n: (e.base, e.known, e.edits) for n, e in found.items()
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("== a b\nx = 1\n", "an entry begins"),
        ("== a\nx = 1\n\n== a\nx = 2\n", "two entries `a`"),
        ("== a < b\n-x\n", "`b` is no entry"),
        ("== a < a\n-x\n", "`a` is no entry, or edits of edits"),
        (
            "== a < solution\n-x\n\n== b < a\n-x\n\n== c < b\n-x\n",
            "`b` is no entry, or edits of edits",
        ),
    ],
)
def test_file_that_is_not_as_it_has_to_be_is_refused(text: str, says: str) -> None:
    with pytest.raises(AnswersMistake, match=says):
        read_entries(text)


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ("-    y = x\n", "found 0 times"),
        ("-    return y\n+    return x\n\n-    return y\n", "found 0 times"),
        ("?    return y\n", "a line of an edit begins with"),
    ],
)
def test_edit_without_a_place_of_its_own_makes_no_answer(edits: str, says: str) -> None:
    found = read_entries(f"== a < solution\n{edits}")
    with pytest.raises(AnswersMistake, match=says):
        source_of(found["a"], found, BASE)
