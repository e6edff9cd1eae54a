"""Every sentence of every stub, beside the checks that hold it.

``tests/answers/EXERCISE.sentences`` has them all, but for those that ``shared.sentences`` has for
several exercises that say nothing else of them, and those that ``What stands in OTHER.py as well.``
stands for. Below each stands what of it is held by which check, and a known wrong version that
breaks this and loses that check; or why it promises nothing.
``python -m tests.support.sentences [EXERCISE...]`` prints them side by side.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.kit import load_kit
from grader.languages.stubs import rules_of
from tests.support.paths import ANSWERS, ROOT

REFUSED = "the file is refused"  # by the rules that hold before any check is tried
# A sentence ends where another begins: with a capital, or with code; not inside a quotation.
_SENTENCE_END = re.compile(
    r'(?:(?<=[.?!])|(?<=[.?!]"))\s+(?=(?:["`]|[A-Z]))(?=(?:[^"]*"[^"]*")*[^"]*$)'
)
_SECTION_ENTRY = re.compile(r"\s+\w+: ")  # of Args, Attributes, Raises
_AS_WELL = re.compile(r"What stands in (\w+)\.py as well\.")
NOTHING_PREFIX = "promises nothing: "
SHARED = "shared"
KIT = load_kit(ROOT)
_SECTION = re.compile(r"(Args|Attributes|Returns|Raises):$")


@dataclass(frozen=True)
class Held:
    """What of a sentence is held.

    Attributes:
        part: Of the sentence, in its own words.
        check: That holds it, or `REFUSED`.
        wrong: A known wrong version that loses it: beside the solution, or of ``situations``.
    """

    part: str
    check: str
    wrong: str


@dataclass(frozen=True)
class SentenceEntry:
    """What is known of a sentence.

    Attributes:
        held: By what; nothing where it promises nothing.
        nothing: Why it promises nothing.
    """

    says: str
    held: tuple[Held, ...]
    nothing: str


def sentences(path: Path) -> list[str]:
    """All sentences of a file's docstrings and rules, each once and on one line."""
    source = path.read_text(encoding="utf-8")
    texts = [
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    blocks = [block for text in (*texts, rules_of(source)) for block in _blocks(text)]
    return list(dict.fromkeys(says for block in blocks for says in _SENTENCE_END.split(block)))


def _blocks(docstring: str) -> Iterator[str]:
    """Paragraphs, bullet points, and entries of a section such as Args, each on one line."""
    block: list[str] = []
    for line in [*inspect.cleandoc(docstring).splitlines(), ""]:
        bare = line.strip()
        begins = (
            bare.startswith("- ") or _SECTION_ENTRY.match(line) or not bare or _SECTION.match(line)
        )
        if begins and block:
            yield " ".join(block)
            block = []
        if bare and not _SECTION.match(line):
            block.append(bare.removeprefix("- "))


def entries(exercise: str) -> list[SentenceEntry]:
    """What is known of an exercise's sentences: first in its own words, then in those of many."""
    found = sentences(KIT.find(exercise).stub)
    own, others = [], entries_in(SHARED)
    for entry in entries_in(exercise):
        if other := _AS_WELL.fullmatch(entry.says):
            others += [replace(entry, says=says) for says in sentences(KIT.find(other[1]).stub)]
        else:
            own.append(entry)
    left = {*found} - {entry.says for entry in own}
    return [*own, *{entry.says: entry for entry in others[::-1] if entry.says in left}.values()]


def entries_in(name: str) -> list[SentenceEntry]:
    """Those that stand in a file."""
    path = ANSWERS / f"{name}.sentences"
    text = path.read_text(encoding="utf-8").partition("\n\n")[2] if path.is_file() else ""
    found = re.findall(r"((?:^\S.*\n)+)((?:^ .*\n)+)", text, re.MULTILINE)
    return [_entry(" ".join(says.split()), lines) for says, lines in found]


def _entry(says: str, lines: str) -> SentenceEntry:
    """From a sentence and the lines below it; one that goes on is indented further."""
    known = [
        " ".join(line.split()) for line in re.split(r"^  (?=\S)", lines, flags=re.MULTILINE)[1:]
    ]
    if known[0].startswith(NOTHING_PREFIX):
        return SentenceEntry(says, (), " ".join(known).removeprefix(NOTHING_PREFIX))
    return SentenceEntry(says, tuple(Held(*line.split(" | ")) for line in known), "")


def table(exercise: str) -> str:
    """Sentences and checks side by side."""
    lines, order = [f"# {exercise}"], sentences(KIT.find(exercise).stub)
    for entry in sorted(
        entries(exercise), key=lambda entry: [*order, entry.says].index(entry.says)
    ):
        lines += ["", entry.says]
        lines += [f"    {held.part:40}  {held.check:52}  {held.wrong}" for held in entry.held]
        lines += [f"    {NOTHING_PREFIX}{entry.nothing}"] if entry.nothing else []
    return "\n".join(lines)


if __name__ == "__main__":
    for exercise in KIT.exercises:
        if exercise.name in (sys.argv[1:] or [exercise.name]):
            sys.stdout.write(f"{table(exercise.name)}\n\n")
