"""Every sentence of every stub has a check that holds it, and a wrong version that loses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.kit import Exercise
from grader.suite.reuse import checks_of, load_suite
from tests.kit.test_kit import each_exercise
from tests.support.answers import answers
from tests.support.sentences import KIT, REFUSED, SHARED, entries, entries_in, sentences
from tests.support.wrong import wrong_versions


@each_exercise
def test_every_sentence_has_an_entry_and_every_entry_its_sentence(exercise: Exercise) -> None:
    found, listed = sentences(exercise.stub), [entry.says for entry in entries(exercise.name)]
    missing = [f"no entry for: {says}" for says in found if says not in listed]
    stale = [f"no longer in the stub: {says}" for says in listed if says not in found]
    assert not missing + stale, "\n".join(missing + stale)
    assert len(set(listed)) == len(listed)


@each_exercise
def test_every_entry_says_what_holds_it_or_why_nothing_does(exercise: Exercise) -> None:
    for entry in entries(exercise.name):
        assert bool(entry.held) != bool(entry.nothing), f"one of held and nothing: {entry.says}"
        for held in entry.held:
            assert held.part in entry.says, f"{held.part!r} is no part of: {entry.says}"


@each_exercise
def test_what_holds_a_sentence_is_a_check_that_a_wrong_version_loses(exercise: Exercise) -> None:
    checks = {REFUSED, *checks_of(load_suite(str(exercise.suite), exercise.suite.name))}
    loses = {wrong.mistake.name: wrong.mistake.loses for wrong in wrong_versions(exercise)}
    problems = []
    for held in (held for entry in entries(exercise.name) for held in entry.held):
        if held.check not in checks:
            problems.append(f"the suite has no `{held.check}`")
        if held.wrong.startswith("situations/"):
            problems += _problems_of_file(exercise, held.wrong)
        elif held.wrong not in loses:
            problems.append(f"there is no wrong version `{held.wrong}`")
        elif loses[held.wrong] != held.check:
            problems.append(f"`{held.wrong}` loses `{loses[held.wrong]}`, not `{held.check}`")
    assert not problems, "\n".join(problems)


def test_what_is_shared_is_what_several_exercises_say() -> None:
    every = [entry for exercise in KIT.exercises for entry in entries(exercise.name)]
    for entry in entries_in(SHARED):
        assert every.count(entry) > 1, entry.says


def _problems_of_file(exercise: Exercise, wrong: str) -> list[str]:
    """Which check it loses is tried where it is graded, in ``test_answers.py``."""
    found = {one.name: one for one in answers(exercise)}.get(wrong)
    if found is None:
        return [f"there is no answer `{wrong}`"]
    return [f"`{wrong}` is accepted all the same"] if found.accepted else []


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("One line.", ["One line."]),
        (
            "A line that\n    goes on. And `x` another.",
            ["A line that goes on.", "And `x` another."],
        ),
        ("- Of one,\n  point.\n- Of another: a, b.", ["Of one, point.", "Of another: a, b."]),
        (
            "A title.\n\n    Args:\n        x: One, eq. 1.\n            Two.\n        y: Three.\n",
            ["A title.", "x: One, eq. 1.", "Two.", "y: Three."],
        ),
        ('Says: "One. Two?" Three.', ['Says: "One. Two?"', "Three."]),
        ("Any: (T,), ... None ``x``. ``y`` too.", ["Any: (T,), ...", "None ``x``.", "``y`` too."]),
        ("Returns:\n    (B, T). Of x.\n", ["(B, T).", "Of x."]),
    ],
)
def test_docstring_is_split_into_sentences(
    docstring: str, expected: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "stub.py"
    file.write_text(f"def f():\n    {docstring!r}\n", encoding="utf-8")
    assert sentences(file) == expected
