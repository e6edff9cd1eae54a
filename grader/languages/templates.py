"""Recognise English texts by the templates that they were made from, and translate them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter

MAX_LINE_CHARS = 1_000  # of a line that is looked up: no line of ours is longer
PREFIX_CHARS = 3  # leading characters of a text by which templates are looked up
MAX_NESTING = 4  # levels of templates within templates
MAX_LOOKUPS = 300  # per text: a submission could craft one that needs more
MAX_JOINED_SENTENCES = 6  # leading sentences that are looked up as one text
WORD = re.compile(r"[^\W\d_]{2,}")
NEUTRAL = re.compile(r"([\W\d_]|\b[^\W\d_]\b)*|`[^`]*`")  # text that is the same in every language
LINE_BREAK = re.compile(r"(\n[ ]*)")
SENTENCE_BREAK = re.compile(r"(?<=[.?!:;]) ")
NEXT_SENTENCE_OR_LINE = re.compile(r"[.?!:;] |\n")


@dataclass(frozen=True)
class Template:
    """A text with named fields, such as ``expected {count} of {total}``."""

    text: str

    @cached_property
    def names(self) -> list[str]:
        """The names of the fields, in order."""
        return [name for _, name, _, _ in Formatter().parse(self.text) if name is not None]

    @cached_property
    def pieces(self) -> list[str]:
        """The literal texts before, between and after the fields."""
        found = [before for before, _, _, _ in Formatter().parse(self.text)]
        return found if len(found) > len(self.names) else [*found, ""]

    @cached_property
    def code_fields(self) -> frozenset[str]:
        """The fields in backticks, whose values are the same in every language."""
        quoted = [before.endswith("`") for before in self.pieces]
        return frozenset(name for name, is_code in zip(self.names, quoted, strict=False) if is_code)

    @cached_property
    def literal_chars(self) -> int:
        """The number of literal characters: the more, the less a text matches by chance."""
        return sum(map(len, self.pieces))

    @cached_property
    def start(self) -> str:
        """The first ``PREFIX_CHARS`` characters, to look it up by; empty if a field is earlier."""
        first = self.pieces[0][:PREFIX_CHARS]
        return first if len(first) == PREFIX_CHARS else ""

    @cached_property
    def longest(self) -> str:
        """The longest literal piece, without which a text cannot match."""
        return max(self.pieces, key=len)

    @cached_property
    def is_weak(self) -> bool:
        """Whether fewer than two words stand around the fields: any text might match by chance."""
        return sum(len(WORD.findall(piece)) for piece in self.pieces) < 2

    def match(self, text: str) -> dict[str, str] | None:
        """Match a text and return the fields' values; None if the template does not fit.

        Each value ends where the next literal piece first occurs. Nothing is tried twice, so that
        no text of a submission takes long.
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


class Translations:
    """All translations into one language.

    Args:
        known: The translation of each English text or template.
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
        any_start = self._templates.pop("", [])
        for start, others in self._templates.items():
            self._templates[start] = sorted([*others, *any_start], key=_surest)
        self._any_start_templates = sorted(any_start, key=_surest)
        self._lookups_left = MAX_LOOKUPS
        self._marks = {"; ": "；", ": ": "："} if any("。" in s for s in known.values()) else {}

    def say(self, text: str) -> str | None:
        """Translate a text; return None if no part of it is known.

        Args:
            text: English text, of one or several lines or sentences.
        """
        self._lookups_left = MAX_LOOKUPS
        return self._say(text, MAX_NESTING)

    def _say(self, text: str, levels_left: int) -> str | None:
        if "\n" not in text and len(text) > MAX_LINE_CHARS:
            return None
        if (said := self._at_once(text, levels_left)) is not None:
            return said
        if "\n" in text:
            lines = LINE_BREAK.split(text)
            told = [
                None if at % 2 else self._say(line, levels_left) for at, line in enumerate(lines)
            ]
            return _joined(list(zip(lines, told, strict=True)))
        said = self._by_sentences(text, levels_left)
        return self._by_template(text, levels_left, is_sure=False) if said is None else said

    def _at_once(self, text: str, levels_left: int) -> str | None:
        if text in self._whole:
            return self._whole[text]
        return self._by_template(text, levels_left)

    def _by_sentences(self, text: str, levels_left: int) -> str | None:
        """Translate as many leading sentences as are known as one text, then the rest.

        Once all lookups are used up, nothing is translated so: a submission may have written
        hundreds of sentences, each of which takes a call within the call before.
        """
        if not self._lookups_left:
            return None
        ends = [found.start() for found in SENTENCE_BREAK.finditer(text)][:MAX_JOINED_SENTENCES]
        for end in reversed(ends):
            head, mark, rest = text[:end], text[end - 1 : end + 1], text[end + 1 :]
            said = self._at_once(head, levels_left)
            if said is None and mark in ("; ", ": "):
                said = self._at_once(head[:-1], levels_left)
                said = None if said is None else said + self._marks.get(mark, mark.strip())
            if said is not None:
                return _joined([(head, said), (rest, self._say(rest, levels_left))])
        if not ends:
            return None
        first, rest = text[: ends[0]], text[ends[0] + 1 :]
        return _joined([(first, None), (rest, self._say(rest, levels_left))])

    def _by_template(self, text: str, levels_left: int, is_sure: bool = True) -> str | None:
        """Translate a text with the matching template that has the most literal characters.

        Args:
            text: A text that may have been made from a template.
            levels_left: How many levels of templates may still be nested in the fields.
            is_sure: Whether to reject a template with a field that holds unknown sentences, which
                it may have swallowed.
        """
        if not levels_left or not self._lookups_left:
            return None
        self._lookups_left -= 1
        for template, said in self._templates.get(text[:PREFIX_CHARS], self._any_start_templates):
            found = template.match(text) if template.longest in text else None
            if found is None:
                continue
            texts = {
                name: value for name, value in found.items() if name not in template.code_fields
            }
            look = self._at_once if is_sure else self._say
            told = {
                name: (look if NEXT_SENTENCE_OR_LINE.search(value) else self._say)(
                    value, levels_left - 1
                )
                for name, value in texts.items()
            }
            untranslated = [value for name, value in texts.items() if told[name] is None]
            by_chance = template.is_weak and not all(map(NEUTRAL.fullmatch, untranslated))
            swallowed = is_sure and any(map(NEXT_SENTENCE_OR_LINE.search, untranslated))
            if not by_chance and not swallowed:
                return said.format_map({n: told.get(n) or found[n] for n in found})
        return None


def _surest(one: tuple[Template, str]) -> int:
    return -one[0].literal_chars


def _without_mark(text: str, said: str) -> tuple[str, str]:
    """Return a text and its translation without the leading mark that joins it to another text."""
    bare = re.sub(r"^[;:,] ", "", text)
    return (text, said) if bare == text else (bare, re.sub(r"^[;:,；：，]\s*", "", said))


def _joined(pieces: list[tuple[str, str | None]]) -> str | None:
    """Join texts by their translations, or as they are where they have none; None if none has.

    A space goes between them, except after a full-width mark.
    """
    if all(said is None for _, said in pieces):
        return None
    text = ""
    for old, said in pieces:
        piece = old if said is None else said
        is_apart = text and text[-1] not in "\n 。；：？！" and not piece.startswith("\n")
        text += (" " if is_apart else "") + piece
    return text
