"""Known answers as edits of one another: found, written, shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.authoring import answers as known
from grader.authoring.answer_files import AnswersMistake, read_entries, source_of, written
from grader.authoring.answers import entries_of
from grader.kit import load_kit
from tests.answers.__main__ import main
from tests.support.answers import answers
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
    monkeypatch.setattr(known, "answers_folder", lambda exercise: tmp_path)
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
