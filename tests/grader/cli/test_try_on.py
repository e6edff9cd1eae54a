"""``grade try``: an input of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.kit import installed_kit
from tests.grader.cli.conftest import Grade

EYE = "[[1, 0], [0, 1]]"
CAUSAL = ("--give", "attention_mask", "[[1, 0], [1, 1]]")
SOLUTION = installed_kit().find("exercise3").solution


@pytest.fixture
def mine(grade: Grade, tmp_path: Path) -> Path:
    """The learner's file, solved."""
    file = tmp_path / "drills/exercises/variants/exercise3.py"
    file.write_text(SOLUTION.read_text(encoding="utf-8"), encoding="utf-8")
    return file


@pytest.mark.usefixtures("mine")
def test_right_answer_is_as_it_should_be_with_its_weights_and_map(grade: Grade) -> None:
    code, out, err = grade("try", "exercise3", "--x", EYE, "--seed", 7)
    assert (code, err) == (0, "")
    assert "SelfAttentionV3(hidden_dim=2, dropout_rate=0.3), in evaluation" in out
    assert "x (1, 2, 2)\n    [[[1. 0.]" in out
    assert "proj.weight (6, 2)" in out
    assert "weights without a mask (2, 2)" in out
    assert "attention without a mask: a row for each query" in out
    assert out.endswith("  as it should be\n")
    assert grade("try", "exercise3", "--x", EYE, "--seed", 7)[1] == out


def test_wrong_answer_stands_beside_the_right_one(grade: Grade, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("softmax(dim=-1)", "softmax(dim=-2)"))
    code, out, _ = grade("try", "exercise3", "--x", EYE, *CAUSAL, "--seed", 7)
    assert code == 1
    assert "attention_mask (2, 2)\n    [[1 0]" in out
    _, _, yours = out.partition("weights under your mask, yours (2, 2)\n")
    yours, _, right = yours.partition("weights under your mask, right (2, 2)\n")
    assert "0.0000]" in yours.splitlines()[0]
    assert right.splitlines()[0].strip() == "[[1.0000 0.0000]"
    assert "output, yours (1, 2, 2)" in out
    assert "output, right (1, 2, 2)" in out
    assert out.endswith("  output: 4 of 4 values differ\n")


def test_what_it_raises_is_told_with_its_line(grade: Grade, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("self.proj(x)", "self.proj(x.mT)"))
    code, out, err = grade("try", "exercise3", "--x", "[[1, 0], [0, 1], [1, 1]]")
    assert (code, out) == (1, "")
    assert "exercise3.py:" in err
    assert ": RuntimeError: mat1 and mat2 shapes cannot be multiplied" in err


def test_no_line_of_what_it_raises_is_ours(grade: Grade, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("self.proj(x)", "getattr(x, 'a\\n  as it should be')"))
    code, _, err = grade("try", "exercise3", "--x", EYE)
    assert code == 1
    assert err.splitlines()[1].lstrip().startswith("| ")


def test_size_that_no_input_decides(grade: Grade) -> None:
    solution = installed_kit().find("exercise5").solution
    code, out, _ = grade("try", "exercise5", solution, "--x", "[[1, 2, 3, 4]]", "--size", "H=4")
    assert code == 0
    assert "num_heads=4" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), 'give an input, such as --x "[[1, 0], [0, 1]]"'),
        (("--x", "[[1,"), "`[[1,` is no list of numbers"),
        (("--x", EYE, "--size", "T"), "`T` is no size: a letter and 1 to 512, such as H=2"),
        (("exercise2", "--x", EYE), "`grade try` tries one file at a time"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_cannot_be_tried_is_one_line(grade: Grade, words: tuple[str, ...], says: str) -> None:
    code, out, err = grade("try", "exercise3", *words)
    assert (code, out) == (2, "")
    assert says in err.splitlines()[-1]


def test_stub_is_not_written_yet(grade: Grade) -> None:
    code, _, err = grade("try", "exercise3", "--x", EYE)
    assert code == 1
    assert err.endswith("exercise3.py: what is tried is not written yet\n")
