"""English texts recognised by the templates that they were made from, and said otherwise."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter

MOST = 1_000  # characters of a text that is looked at: no line of ours is longer
START = 3  # characters that templates are found by
DEEP = 4  # templates within templates
TRIES = 300  # pieces of a text that are looked for: a submission's may be made to have any number
MANY = 6  # sentences that are known together
WORD = re.compile(r"[^\W\d_]{2,}")
NEUTRAL = re.compile(r"([\W\d_]|\b[^\W\d_]\b)*|`[^`]*`")  # the same in every language
LINES = re.compile(r"(\n[ ]*)")
SENTENCES = re.compile(r"(?<=[.?!:;]) ")
MORE = re.compile(r"[.?!:;] |\n")  # where something else begins


@dataclass(frozen=True)
class Template:
    """A text with places in it: ``expected {count} of {total}``."""

    text: str

    @cached_property
    def names(self) -> list[str]:
        """Of its places, in their order."""
        return [name for _, name, _, _ in Formatter().parse(self.text) if name is not None]

    @cached_property
    def pieces(self) -> list[str]:
        """What stands before, between and after the places."""
        found = [before for before, _, _, _ in Formatter().parse(self.text)]
        return found if len(found) > len(self.names) else [*found, ""]

    @cached_property
    def code(self) -> frozenset[str]:
        """Which places stand in backticks: what is there is the same in every language."""
        quoted = [before.endswith("`") for before in self.pieces]
        return frozenset(name for name, is_code in zip(self.names, quoted, strict=False) if is_code)

    @cached_property
    def sure(self) -> int:
        """How many characters of a text it knows: the more, the less it fits by chance."""
        return sum(map(len, self.pieces))

    @cached_property
    def start(self) -> str:
        """What a text of it begins with; empty where it begins with a place, or nearly."""
        first = self.pieces[0][:START]
        return first if len(first) == START else ""

    @cached_property
    def longest(self) -> str:
        """Its longest piece: a text without it is none of its."""
        return max(self.pieces, key=len)

    @cached_property
    def is_weak(self) -> bool:
        """Whether it says so little that other texts look like it."""
        return sum(len(WORD.findall(piece)) for piece in self.pieces) < 2

    def match(self, text: str) -> dict[str, str] | None:
        """What stands in its places, each ending where the next piece first comes.

        Nothing is tried twice, so that no text of a submission's takes long.
        """
        first, *between, last = self.pieces
        at, end = len(first), len(text) - len(last)
        if at > end or not text.startswith(first) or not text.endswith(last):
            return None
        found = {}
        for name, piece in zip(self.names, between, strict=False):
            there = text.find(piece, at, end)
            if there < 0:
                return None
            found[name], at = text[at:there], there + len(piece)
        return {**found, self.names[-1]: text[at:end]}


class Phrases:
    """All that can be said in a language.

    Args:
        known: What each English text or template is there.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._templates: defaultdict[str, list[tuple[Template, str]]] = defaultdict(list)
        self._whole: dict[str, str] = {}
        for text, said in known.items():
            for one, told in dict([(text, said), _without_mark(text, said)]).items():
                template = Template(one)
                if template.names:
                    self._templates[template.start].append((template, told))
                else:
                    self._whole[one.format()] = told.format()
        some = self._templates.pop("", [])
        for start, others in self._templates.items():
            self._templates[start] = sorted([*others, *some], key=_surest)
        self._some = sorted(some, key=_surest)  # that may begin with anything
        self._left = TRIES
        self._marks = {"; ": "；", ": ": "："} if any("。" in s for s in known.values()) else {}

    def say(self, text: str) -> str | None:
        """A text in the language; None where nothing of it is known.

        Args:
            text: English: a whole text, or several lines or sentences.
        """
        self._left = TRIES
        return self._say(text, DEEP)

    def _say(self, text: str, deep: int) -> str | None:
        if "\n" not in text and len(text) > MOST:
            return None
        if (said := self._at_once(text, deep)) is not None:
            return said
        if "\n" in text:
            lines = LINES.split(text)
            told = [None if at % 2 else self._say(line, deep) for at, line in enumerate(lines)]
            return _joined(list(zip(lines, told, strict=True)))
        said = self._by_sentences(text, deep)
        return self._by_template(text, deep, is_sure=False) if said is None else said

    def _at_once(self, text: str, deep: int) -> str | None:
        if text in self._whole:
            return self._whole[text]
        return self._by_template(text, deep)

    def _by_sentences(self, text: str, deep: int) -> str | None:
        """As many of the first sentences as are known together, then the others."""
        ends = [found.start() for found in SENTENCES.finditer(text)][:MANY]
        for end in reversed(ends):
            head, mark, rest = text[:end], text[end - 1 : end + 1], text[end + 1 :]
            said = self._at_once(head, deep)
            if said is None and mark in ("; ", ": "):
                said = self._at_once(head[:-1], deep)
                said = None if said is None else said + self._marks.get(mark, mark.strip())
            if said is not None:
                return _joined([(head, said), (rest, self._say(rest, deep))])
        if not ends:
            return None
        first, rest = text[: ends[0]], text[ends[0] + 1 :]
        return _joined([(first, None), (rest, self._say(rest, deep))])

    def _by_template(self, text: str, deep: int, is_sure: bool = True) -> str | None:
        """By the template that knows the most of it.

        Args:
            text: What may be made from it.
            deep: How many more templates may stand in its places.
            is_sure: Whether no place of it may hold unknown sentences, which it may have swallowed.
        """
        if not deep or not self._left:
            return None
        self._left -= 1
        for template, said in self._templates.get(text[:START], self._some):
            found = template.match(text) if template.longest in text else None
            if found is None:
                continue
            texts = {name: value for name, value in found.items() if name not in template.code}
            look = self._at_once if is_sure else self._say
            told = {
                name: (look if MORE.search(value) else self._say)(value, deep - 1)
                for name, value in texts.items()
            }
            left = [value for name, value in texts.items() if told[name] is None]
            by_chance = template.is_weak and not all(map(NEUTRAL.fullmatch, left))
            swallowed = is_sure and any(map(MORE.search, left))
            if not by_chance and not swallowed:
                return said.format_map({n: told.get(n) or found[n] for n in found})
        return None


def _surest(one: tuple[Template, str]) -> int:
    return -one[0].sure


def _without_mark(text: str, said: str) -> tuple[str, str]:
    """What goes after another text, as it is where that is said by itself."""
    bare = re.sub(r"^[;:,] ", "", text)
    return (text, said) if bare == text else (bare, re.sub(r"^[;:,；：，]\s*", "", said))


def _joined(pieces: list[tuple[str, str | None]]) -> str | None:
    """Sentences and what they are in the language; none where none is known.

    With a space between them, but after a mark that is as wide as two letters.
    """
    if all(said is None for _, said in pieces):
        return None
    text = ""
    for old, said in pieces:
        piece = old if said is None else said
        is_apart = text and text[-1] not in "\n 。；：？！" and not piece.startswith("\n")
        text += (" " if is_apart else "") + piece
    return text
