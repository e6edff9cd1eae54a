"""Files of answers: what they say is what is graded, or nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.kit import load_kit
from tests.answers.__main__ import main
from tests.support import answers as known
from tests.support.answer_files import AnswersMistake, Edit, read_entries, source_of, written
from tests.support.answers import answers, entries_of
from tests.support.edit_finding import bare, edits_between, is_same
from tests.support.paths import ROOT

KIT = load_kit(ROOT)
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
"""


def test_entries_are_what_their_text_says_and_come_back() -> None:
    found = read_entries(TEXT)
    assert [*found] == ["whole", "wrong_it", "wrong_that"]
    it = found["wrong_it"]
    assert it.known == {
        "what": "adds one, and more than that",
        "loses": "test_a test_b",
        "accepted": "nobody sees it",
    }
    assert source_of(it, found, "") == "import torch\ndef f(x):\n    return x + 1\n"
    assert source_of(found["wrong_that"], found, BASE).endswith("def f(x):\n    return x\n")
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
        ("== a < b\n-x\n", "`b` is no entry that stands whole"),
        ("== a < solution\n-x\n\n== b < a\n-x\n", "`a` is no entry that stands whole"),
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


@pytest.mark.parametrize(
    "source",
    [
        BASE.replace("y * 2", "y * 3"),
        BASE.replace("    if x.any():\n        y = y * 2\n", ""),
        BASE.replace("    return y\n", "    y = y - 1\n    return y\n"),
        BASE.replace('    """Twice."""\n', "    z = 3\n").replace("import torch\n", ""),
        BASE.replace("    if x.any():\n        y = y * 2\n", "    y = y.relu()\n    y += 2\n"),
    ],
)
def test_edits_make_the_same_program(source: str) -> None:
    edits = edits_between(BASE, source)
    entry = read_entries("== a < solution\n" + "\n".join(written(edits)))["a"]
    assert is_same(source_of(entry, {}, BASE), source)
    assert len(written(edits)) < len(source.splitlines())


def test_what_is_the_same_program_or_too_different_is_no_edit() -> None:
    with pytest.raises(AnswersMistake, match="computes the same"):
        edits_between(BASE, BASE.replace("# one more", "# other words"))
    assert bare(BASE)[:3] == ["import torch", "", "def f(x):"]


@pytest.mark.parametrize("exercise", KIT.exercises, ids=lambda one: one.name)
def test_bases_are_used_and_edits_are_few(exercise: object) -> None:
    for name, entry in entries_of(exercise).items():  # type: ignore[arg-type]
        assert len(entry.edits) <= 4, name


def test_command_shows_lists_and_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = KIT.find("exercise2")
    solution = exercise.solution.read_text(encoding="utf-8")
    old, new = "softmax(dim=-1)  # over", "softmax(dim=-2)  # over"
    assert solution.count(old) == 1
    file = tmp_path / "wrong_made_up.py"
    file.write_text("# over the queries\n" + solution.replace(old, new), "utf-8")
    monkeypatch.setattr(known, "ANSWERS", tmp_path)
    run = CliRunner().invoke
    added = run(main, ["add", "exercise2", str(file)])
    assert added.exit_code == 0, added.output
    assert "1 edits of solution" in added.output
    (one,) = entries_of(exercise).values()
    assert one.known == {"what": "over the queries"}
    answers.cache_clear()
    try:
        shown = run(main, ["show", "exercise2", "wrong_made_up"])
        assert shown.output == solution.replace(old, new)
        assert "wrong_made_up: over the queries" in run(main, ["list", "exercise2"]).output
        for words in (["add", "exercise2", str(file)], ["show", "exercise2", "nothing"]):
            refused = run(main, words)
            assert refused.exit_code == 1
            assert refused.output.startswith("Error: ")
    finally:
        answers.cache_clear()
