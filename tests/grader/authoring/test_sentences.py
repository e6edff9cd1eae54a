"""Every sentence of a stub is held by a check, or an author is told which is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.layout import EXAMPLE_NAME, add_exercise, make_kit
from grader.authoring.sentences import entries, sentences
from grader.authoring.static_findings import contract_findings, kit_findings
from grader.kit import load_kit

SENTENCES = f"tests/answers/{EXAMPLE_NAME}.sentences"
FILE = f"{EXAMPLE_NAME}.sentences"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_kit(tmp_path / "kit")
    return tmp_path / "kit"


def findings(home: Path, name: str = EXAMPLE_NAME) -> list[str]:
    kit = load_kit(home)
    every = contract_findings(kit, kit.find(name))
    return [f"{one.file.name}:{one.line}: {one.text}" for one in every]


def rewrite(home: Path, old: str, new: str, file: str = SENTENCES) -> None:
    text = (home / file).read_text(encoding="utf-8")
    assert old in text
    (home / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_example_has_all_its_sentences_held(home: Path) -> None:
    assert not findings(home)
    kit = load_kit(home)
    assert not list(kit_findings(kit))
    stub = kit.find(EXAMPLE_NAME).stub
    assert [one.says for one in entries(kit, kit.find(EXAMPLE_NAME))] == sentences(stub)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "x: (B, T, C), of any float dtype.\n"
            "  of any float dtype | test_computes_in_float64 | narrowed-to-float32\n",
            "",
            f"{EXAMPLE_NAME}.py:13: no entry in `{FILE}` says what holds "
            "`x: (B, T, C), of any float dtype.`; write which check does",
        ),
        ("where the sum runs", "if it runs", f"{FILE}:8: `Divide each row by √(Σ x² + 1e-6)"),
        ("  √ | test_output", "  √ | test_root", f"{FILE}:8: `Divide each row"),
        ("| test_row_of_zeros_stays_zeros |", "| test_zeros |", "and there is no such check"),
        ("| nothing-added", "| nothing-taken", "`nothing-taken`, and there is no such known"),
        ("| nothing-added", "| no-root", "which loses `test_output_matches_the_formula`, not"),
        ("  √ | ", "  ∛ | ", "does not have the words `∛`"),
        (" | no-root", "", "which is not `words of it | check | known mistake`"),
        ("nothing: a title", "nothing:", "promises nothing, and no reason is given"),
        (
            "Rows of length one.\n",
            "(B, T, C), of the dtype of x.\n  promises nothing: a form\nRows of length one.\n",
            "has two entries; take one out",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_is_told_with_its_place(
    old: str, new: str, told: str, home: Path
) -> None:
    rewrite(home, old, new)
    assert any(told in one for one in findings(home)), findings(home)


def test_kit_without_sentences_is_told_once(home: Path) -> None:
    (home / SENTENCES).unlink()
    (told,) = findings(home)
    assert told.startswith(f"{FILE}:0: is missing; write there what holds each of the 5 sentences")


def test_sentence_that_two_stubs_have_may_be_shared_and_one_alone_may_not(home: Path) -> None:
    add_exercise(home, "rows_again", "first")
    entry = "Rows of length one.\n  promises nothing: a title\n"
    shared = home / "tests/answers/shared.sentences"
    shared.write_text(f"What several say.\n\n{entry}", encoding="utf-8")
    for name in (EXAMPLE_NAME, "rows_again"):
        rewrite(home, entry, "", f"tests/answers/{name}.sentences")
        assert not findings(home, name)
    assert not list(kit_findings(load_kit(home)))
    rewrite(home, "Rows of length one.", "Rows of any length.", "exercises/first/rows_again.py")
    (told,) = kit_findings(load_kit(home))
    assert (told.file, told.line) == (shared, 3)
    assert "serves 1 stubs" in told.text


def test_what_stands_in_another_stub_as_well_is_written_once(home: Path) -> None:
    add_exercise(home, "rows_again", "first")
    text = "All of it.\n\nWhat stands in unit_rows.py as well.\n  promises nothing: said there\n"
    (home / "tests/answers/rows_again.sentences").write_text(text, encoding="utf-8")
    assert not findings(home, "rows_again")
    rewrite(home, "unit_rows.py", "other_rows.py", "tests/answers/rows_again.sentences")
    assert findings(home, "rows_again") == [
        "rows_again.sentences:0: there is no exercise `other_rows`; did you mean `unit_rows`?"
    ]


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
