"""Texts that anybody may have written: parsed in bounded time and memory, and made plainer."""

from __future__ import annotations

import ast

import pytest

from grader.submission.plain_tree import parse_plain
from grader.submission.source import MAX_DOTS, parse_text


@pytest.mark.parametrize(
    "text",
    [
        "import torch" + ".a" * 1001,
        "import torch" + " .\ta" * 1001,
        "import a" + ".\\\na" * 1001,
        "from b" + ".é" * 1001 + " import c",
        "x = 1\nfrom " + "." * 1001 + " import c",
    ],
    ids=["plain", "blanks", "line ends", "letters", "dots alone"],
)
def test_chain_of_names_is_not_parsed(text: str) -> None:
    """The parser keeps every beginning of it: 128 KiB take 4.6 GiB."""
    with pytest.raises(ValueError, match=f"a chain of names has more than {MAX_DOTS} dots"):
        parse_text(text)


def test_many_dots_in_many_lines_are_parsed() -> None:
    lines = ["import torch.nn.functional", "x.y", '"""One. Two. Three."""', "z = 1.5"] * 2000
    assert len(parse_text("\n".join(lines)).body) == len(lines)


def test_letters_that_are_read_as_accents_count_as_such() -> None:
    with pytest.raises(ValueError, match="a letter has more than 100 accents"):
        parse_text(f"a{(chr(0x301) * 99 + chr(0xFF9E)) * 2} = 1\n")
    parse_text(f"{chr(0xFF76)}{chr(0xFF9E)} = 1\n")  # a letter with one of them


def test_class_made_by_type_is_placed_without_a_walk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each level that walks what is inside it makes 97 levels in 64 KB take 9 s."""
    text = "A = type('A', (B,), {'f': lambda self: 1, 'Inner': type('Inner', (), {})})"
    monkeypatch.setattr(ast, "walk", None)
    monkeypatch.setattr(ast, "fix_missing_locations", None)
    tree = parse_plain(text)
    monkeypatch.undo()
    (outer,) = tree.body
    assert ast.unparse(outer).startswith("class A(B):")
    assert "class Inner:" in ast.unparse(outer)
    compile(tree, "x", "exec")  # refuses a node without a place
