"""Attention is a guest: what suites, the sandbox and diagnosis say has no word of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.paths import ROOT

FOLDERS = ("suite", "sandbox", "diagnosis")
WORD = re.compile(
    r"attention|(?<![a-z])(masks?|heads?|quer(y|ies)|dropout)(?![a-z])", re.IGNORECASE
)
ALLOWED = {
    "suite/contract.py": "a report may show maps, which only attention has",
    "suite/plugin.py": "it fetches those maps",
    "suite/runner.py": "the package's own name",
    "suite/draw.py": "torch calls a bool tensor a mask, whatever it hides",
    "diagnosis/words.py": "titles of the pipeline's steps, which the catalogue names",
    "diagnosis/shapes.py": "it reads names in a learner's source",
}


def said(source: str, with_docstrings: bool = False) -> Iterator[str]:
    """Yield the names and texts of a module that hold such a word."""
    nodes = list(ast.walk(ast.parse(source)))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    docstrings = {
        ast.get_docstring(one, clean=False) for one in nodes if isinstance(one, documented)
    }
    for node in nodes:
        for field in ("value", "id", "arg", "attr", "name"):
            text = getattr(node, field, None)
            is_said = isinstance(text, str) and (with_docstrings or text not in docstrings)
            if is_said and WORD.search(text):
                yield text


def test_core_says_no_word_of_attention_beyond_what_has_a_reason() -> None:
    core = ROOT / "grader"
    files = [path for folder in FOLDERS for path in sorted((core / folder).rglob("*.py"))]
    found = {
        path.relative_to(core).as_posix(): [
            *said(path.read_text("utf-8"), path.parent.name == "claims")  # reports show these
        ]
        for path in files
    }
    assert {name: words for name, words in found.items() if words and name not in ALLOWED} == {}
    assert all(found[name] for name in ALLOWED)  # nothing is allowed that nobody needs


def test_word_is_found_in_names_and_texts_and_not_in_docstrings() -> None:
    source = 'def f(head):\n    """Each head."""\n    raise ValueError("no mask")\n'
    assert sorted(said(source)) == ["head", "no mask"]
    assert not [*said('def f(x):\n    """Each head."""\n    return x.ahead\n')]
    assert [*said('"""Each head."""\n', with_docstrings=True)] == ["Each head."]
