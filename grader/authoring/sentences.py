"""Every sentence of a stub, beside the checks that hold it.

``tests/answers/EXERCISE.sentences`` has them all, but for those that ``shared.sentences`` has for
several exercises that say nothing else of them, and those that ``What stands in OTHER.py as well.``
stands for. The first paragraph says what the file is. Below each sentence stands, indented, what of
it is held by which check, and a known wrong version that breaks this and loses that check:
``some words of it | test_of_a_check | name of a mistake``; or why it promises nothing.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.authoring.answers import answers_folder
from grader.authoring.findings import Finding, line_of_words, shortened, text_of
from grader.kit import Exercise, Kit
from grader.languages.stubs import rules_of

REFUSED = "the file is refused"  # by the rules that hold before any check is tried
NOTHING_PREFIX = "promises nothing:"
SHARED = "shared"  # name of the file of those sentences that several stubs have
# A sentence ends where another begins: with a capital, or with code; not inside a quotation.
_SENTENCE_END = re.compile(
    r'(?:(?<=[.?!])|(?<=[.?!]"))\s+(?=(?:["`]|[A-Z]))(?=(?:[^"]*"[^"]*")*[^"]*$)'
)
_SECTION_ENTRY = re.compile(r"\s+\w+: ")  # of Args, Attributes, Raises
_SECTION = re.compile(r"(Args|Attributes|Returns|Raises):$")
_AS_WELL = re.compile(r"What stands in (\w+)\.py as well\.")
_ENTRY = re.compile(r"((?:^\S.*\n)+)((?:^ .*\n)+)", re.MULTILINE)
COLUMNS = 3  # of a line below a sentence


@dataclass(frozen=True)
class Held:
    """What of a sentence is held.

    Attributes:
        part: Words of the sentence.
        check: Name of the check that holds them, or `REFUSED`.
        wrong: Name of a known wrong version that loses it; empty where the line has other columns.
    """

    part: str
    check: str
    wrong: str


@dataclass(frozen=True)
class SentenceEntry:
    """What is known of a sentence.

    Attributes:
        says: The sentence, on one line.
        held: What holds it; nothing where it promises nothing.
        nothing: Why it promises nothing.
        file: Where the entry stands.
        line: Its line there.
    """

    says: str
    held: tuple[Held, ...]
    nothing: str
    file: Path
    line: int


def sentences(stub: Path) -> list[str]:
    """Return all sentences of a file's docstrings and rules, each once and on one line."""
    source = stub.read_text(encoding="utf-8")
    texts = [
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    blocks = [block for text in (*texts, rules_of(source)) for block in _blocks(text)]
    return list(dict.fromkeys(says for block in blocks for says in _SENTENCE_END.split(block)))


def _blocks(docstring: str) -> Iterator[str]:
    """Yield paragraphs, bullet points, and entries of a section such as Args, each on one line."""
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


def sentences_file(exercise: Exercise, name: str = "") -> Path:
    """Return the file of an exercise's sentences; or, beside it, of another exercise's."""
    return answers_folder(exercise) / f"{name or exercise.name}.sentences"


def entries(kit: Kit, exercise: Exercise) -> list[SentenceEntry]:
    """Return the entries for a stub's sentences: first its own, then those shared by several."""
    found = sentences(exercise.stub)
    own, others = [], entries_in(sentences_file(exercise, SHARED))
    for entry in entries_in(sentences_file(exercise)):
        if other := _AS_WELL.fullmatch(entry.says):
            others += [replace(entry, says=says) for says in sentences(kit.find(other[1]).stub)]
        else:
            own.append(entry)
    left = {*found} - {entry.says for entry in own}
    return [*own, *{entry.says: entry for entry in others[::-1] if entry.says in left}.values()]


def entries_in(file: Path) -> list[SentenceEntry]:
    """Return the entries that stand in a file; none without a file."""
    text = text_of(file)
    return [
        _entry(" ".join(found[1].split()), found[2], file, text.count("\n", 0, found.start()) + 1)
        for found in _ENTRY.finditer(text)
    ]


def _entry(says: str, lines: str, file: Path, line: int) -> SentenceEntry:
    """Return what stands below a sentence; a line that goes on is indented further."""
    known = [" ".join(one.split()) for one in re.split(r"^  (?=\S)", lines, flags=re.MULTILINE)]
    known = [one for one in known if one] or [NOTHING_PREFIX]
    if known[0].startswith(NOTHING_PREFIX):
        return SentenceEntry(says, (), " ".join(known)[len(NOTHING_PREFIX) :].strip(), file, line)
    return SentenceEntry(says, tuple(map(_held, known)), "", file, line)


def _held(line: str) -> Held:
    columns = line.split(" | ")
    return Held(*columns) if len(columns) == COLUMNS else Held(line, "", "")


def sentence_findings(
    kit: Kit,
    exercise: Exercise,
    checks: Collection[str],
    loses: Mapping[str, Collection[str]],
) -> Iterator[Finding]:
    """Yield what is wrong with the entries of an exercise, and the sentences that have none.

    Args:
        kit: The kit, which has the shared entries.
        exercise: The exercise.
        checks: Names of its suite's checks.
        loses: The checks that each known wrong version loses, by its name.
    """
    file, found, listed = (
        sentences_file(exercise), sentences(exercise.stub), entries(kit, exercise)
    )  # fmt: skip
    if not listed:
        told = f"is missing; write there what holds each of the {len(found)} sentences of the stub"
        yield Finding(file, 0, f"{told}, as docs/kits.md says")
        return
    known = [entry.says for entry in listed]
    for says in found:
        if says not in known:
            told = f"no entry in `{file.name}` says what holds {shortened(says)}; write which check"
            advice = f"does, or `{NOTHING_PREFIX}` and why"
            yield Finding(exercise.stub, line_of_words(exercise.stub, says), f"{told} {advice}")
    for place, entry in enumerate(listed):
        texts = [] if entry.says in found else ["is no longer in the stub; write it as there"]
        texts += ["has two entries; take one out"] if entry.says in known[:place] else []
        texts += _of_entry(entry, {REFUSED, *checks}, loses)
        for text in texts:
            yield Finding(entry.file, entry.line, f"{shortened(entry.says)} {text}")


def _of_entry(
    entry: SentenceEntry, checks: Collection[str], loses: Mapping[str, Collection[str]]
) -> Iterator[str]:
    if not entry.held and not entry.nothing:
        yield "promises nothing, and no reason is given; say why"
    for held in entry.held:
        if not held.wrong:
            yield f"has a line `{held.part}`, which is not `words of it | check | known mistake`"
        elif held.part not in entry.says:
            yield f"does not have the words `{held.part}`; quote it as it is"
        elif held.check not in checks:
            yield f"is held by `{held.check}`, and there is no such check; name one that is"
        elif held.wrong not in loses:
            yield f"names `{held.wrong}`, and there is no such known mistake; name one that is"
        elif held.check not in loses[held.wrong]:
            known = ", ".join(f"`{name}`" for name in sorted(loses[held.wrong])) or "no check"
            yield f"names `{held.wrong}`, which loses {known}, not `{held.check}`; name another"


def stale_shared(kit: Kit) -> Iterator[Finding]:
    """Yield those entries for sentences of several stubs that no two exercises need."""
    used = [entry for exercise in kit.exercises for entry in entries(kit, exercise)]
    for exercise in kit.exercises[:1]:
        for entry in entries_in(sentences_file(exercise, SHARED)):
            if used.count(entry) < 2:
                told = f"{shortened(entry.says)} serves {used.count(entry)} stubs"
                yield Finding(entry.file, entry.line, f"{told}; what one says belongs to that one")
