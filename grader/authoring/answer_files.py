"""Files of answers: bases that stand whole, and answers as edits of one.

An entry begins with ``== NAME``, or with ``== NAME < BASE`` where it is edits of a base:
``solution``, another entry that stands whole, or one that is edits of these. Lines that begin with
``#`` say what it is, which checks it loses (``# loses: …``), why it is accepted although it is
wrong (``# accepted: …``). Then comes its source; or its edits, as a diff has them: lines that go
begin with ``-``, those that come with ``+``, and those that stay, to say where, with a space. A
line ``~`` between lines that go stands for all that is between them. An empty line ends an edit.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.errors import GradeError

SOLUTION = "solution"
MAX_LINE_CHARS = 100
MAX_BASE_DEPTH = 1  # times that a base is edits itself, so that its reader finds the whole soon
_HEAD = re.compile(r"== ([\w/]+)(?: < ([\w/]+))?")
_KNOWN = re.compile(r"(loses|accepted): (.+)")
WHAT = "what"


class AnswersMistake(GradeError):
    """Says what is wrong in a file of answers."""


@dataclass(frozen=True)
class Edit:
    """Lines that are replaced.

    Attributes:
        old: What is looked for; ``None`` is any number of lines.
        new: What comes in its place.
    """

    old: tuple[str | None, ...]
    new: tuple[str, ...]

    def apply(self, source: str) -> str:
        """Return the source with this edit.

        Raises:
            AnswersMistake: What it looks for is not there exactly once.
        """
        pattern = "".join(
            r"(?:.*\n)*?" if line is None else f"{re.escape(line)}\n" for line in self.old
        )
        found = list(re.finditer(f"^{pattern}", source, re.MULTILINE))
        if len(found) != 1:
            says = " / ".join(line or "~" for line in self.old)
            raise AnswersMistake(f"found {len(found)} times, instead of once: {says}")
        new = "".join(f"{line}\n" for line in self.new)
        return source[: found[0].start()] + new + source[found[0].end() :]


@dataclass
class Entry:
    """An answer as it stands in its file.

    Attributes:
        base: Of which it is edits; empty where it stands whole.
        known: What is known of it: ``what``, ``loses``, ``accepted``.
        lines: Its source, or its edits.
    """

    name: str
    base: str = ""
    known: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def edits(self) -> list[Edit]:
        """The edits in their order; none where the entry stands whole."""
        return list(_edits(self.lines)) if self.base else []

    def text(self) -> str:
        """Return the entry as it stands in a file."""
        head = f"== {self.name} < {self.base}" if self.base else f"== {self.name}"
        known = [
            f"# {line}"
            for key, value in self.known.items()
            for line in textwrap.wrap(
                value if key == WHAT else f"{key}: {value}", MAX_LINE_CHARS - 2
            )
        ]
        return "\n".join([head, *known, *self.lines, ""])


def read_entries(text: str) -> dict[str, Entry]:
    """Return the entries of a file by their names.

    Raises:
        AnswersMistake: Two have one name, or a base is not there, or is edits of edits.
    """
    entries: dict[str, Entry] = {}
    for chunk in re.split(r"^(?=== )", text, flags=re.MULTILINE)[1:]:
        entry = _entry(chunk)
        if entry.name in entries:
            raise AnswersMistake(f"there are two entries `{entry.name}`")
        entries[entry.name] = entry
    for entry in entries.values():
        if entry.base and depth(entry.base, entries) > MAX_BASE_DEPTH:
            raise AnswersMistake(f"`{entry.name}`: `{entry.base}` is no entry, or edits of edits")
    return entries


def depth(name: str, entries: Mapping[str, Entry]) -> int:
    """Return how many times an entry is edits of another; too many times where one is missing."""
    found = 0
    while name != SOLUTION and found <= MAX_BASE_DEPTH:
        if name not in entries:
            return MAX_BASE_DEPTH + 1
        if not entries[name].base:
            break
        name, found = entries[name].base, found + 1
    return found


def source_of(entry: Entry, entries: dict[str, Entry], solution: str) -> str:
    """Return an answer as a learner would hand it in.

    Raises:
        AnswersMistake: An edit does not find its place.
    """
    if not entry.base:
        return "\n".join(entry.lines) + "\n"
    whole = solution
    if entry.base != SOLUTION:
        whole = source_of(entries[entry.base], entries, solution)
    for edit in entry.edits:
        try:
            whole = edit.apply(whole)
        except AnswersMistake as mistake:
            raise AnswersMistake(f"`{entry.name}`: {mistake}") from None
    return whole


def written(edits: Iterable[Edit]) -> list[str]:
    """Return edits as they stand in a file."""
    lines: list[str] = []
    for edit in edits:
        above = _alike(edit.old, edit.new)
        old, new = edit.old[above:], edit.new[above:]
        below = _alike(old[::-1], new[::-1])
        lines += [""] if lines else []
        lines += [f" {line}" for line in edit.new[:above]]
        lines += ["~" if line is None else f"-{line}" for line in old[: len(old) - below]]
        lines += [f"+{line}" for line in new[: len(new) - below]]
        lines += [f" {line}" for line in new[len(new) - below :]]
    return lines


def _alike(one: Sequence[str | None], other: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _entry(chunk: str) -> Entry:
    head, *lines = chunk.rstrip("\n").split("\n")
    found = _HEAD.fullmatch(head)
    if found is None:
        raise AnswersMistake(f"an entry begins `== NAME` or `== NAME < BASE`, not `{head}`")
    entry = Entry(found[1], found[2] or "")
    said = [line[2:] for line in itertools.takewhile(lambda one: one.startswith("# "), lines)]
    entry.lines = lines[len(said) :]
    key = WHAT
    for line in said:
        known = _KNOWN.fullmatch(line)
        key, text = (known[1], known[2]) if known else (key, line)
        entry.known[key] = f"{entry.known[key]} {text}" if key in entry.known else text
    return entry


def _edits(lines: list[str]) -> Iterator[Edit]:
    old: list[str | None] = []
    new: list[str] = []
    for line in [*lines, ""]:
        mark, rest = line[:1], line[1:]
        if mark in (" ", "-"):
            old.append(rest)
            new += [rest] if mark == " " else []
        elif line == "~":
            old.append(None)
        elif mark == "+":
            new.append(rest)
        elif line == "" and old:
            yield Edit(tuple(old), tuple(new))
            old, new = [], []
        else:
            raise AnswersMistake(f"a line of an edit begins with `-`, `+` or a space, not `{line}`")
