"""Cutting a submission into what can be compared: statements, the author's names, comments.

A statement is compared without what anybody may change without thinking: layout, round brackets,
commas, quotes, annotations, the names that the author chose. Names and comments are evidence of
their own. A file that does not parse is read as far as it can be cut into tokens.
"""

from __future__ import annotations

import builtins
import io
import keyword
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from tokenize import TokenInfo
from typing import NamedTuple

STRUCTURE, NAMES, COMMENTS = TRAIT_KINDS = (
    "same structure",
    "same names",
    "same comments or strings",
)
TraitSets = tuple[frozenset[str], ...]  # the traits of each kind, in the order of TRAIT_KINDS
WORDS = re.compile(r"\w+")
RESERVED_NAMES = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
DICTATED_STATEMENTS = {"def", "class", "@"}  # by the contract, but for names
IMPORTS = {"import", "from"}
LAYOUT_TOKENS = {
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.NEWLINE,
}
IGNORED_PUNCTUATION = {"(", ")", ","}
MIN_STATEMENT_TOKENS = 3  # a shorter statement is no evidence: `return x`
WORDS_PER_TRAIT = 4  # of a comment or a string


class Trait(NamedTuple):
    """One thing that two submissions may share.

    Attributes:
        kind: One of ``TRAIT_KINDS``.
        what: The text that is compared.
        first: The line where it begins.
        last: The line where it ends.
    """

    kind: str
    what: str
    first: int
    last: int


@dataclass(frozen=True)
class SubmissionTraits:
    """The parts of one submission that are compared.

    Attributes:
        code: Every statement with its own names, sorted; the same in files that differ only in
            layout, quotes, brackets, comments, docstrings and the order of their statements.
        traits: All traits in the order of the file; one that occurs twice is there twice.
    """

    code: str
    traits: tuple[Trait, ...]

    def trait_sets(self) -> TraitSets:
        """Return three sets of texts: shapes of statements, own names, words of comments."""
        return tuple(
            frozenset(sys.intern(trait.what) for trait in self.traits if trait.kind == kind)
            for kind in TRAIT_KINDS
        )


class TooLong(Exception):
    """A submission has more tokens than are read."""


def words_of(stub: str) -> frozenset[str]:
    """Return every word of a stub, prose included: none of them counts as an author's own name."""
    return frozenset(WORDS.findall(stub))


def read_traits(
    source: str, stub_words: frozenset[str], max_tokens: int = sys.maxsize
) -> SubmissionTraits:
    """Cut a submission into what can be compared.

    Args:
        source: The submission's text.
        stub_words: The words of the stub.
        max_tokens: How many tokens are read.

    Raises:
        TooLong: The submission has more tokens.
    """
    code: list[str] = []
    traits: list[Trait] = []
    imported: set[str] = set()
    for statement in _statements(source, max_tokens):
        if all(token.type in (tokenize.COMMENT, tokenize.STRING) for token in statement):
            traits.extend(_text_traits(statement))  # a comment, a docstring
            continue
        code.append(
            " ".join(_spelling(t) for t in statement if t.string not in IGNORED_PUNCTUATION)
        )
        if statement[0].string in IMPORTS:
            imported |= {token.string for token in statement}
            continue
        traits.extend(_traits(statement, stub_words))
    return SubmissionTraits("\n".join(sorted(code)), tuple(_without_repeats(traits, imported)))


def _without_repeats(traits: list[Trait], imported: set[str]) -> Iterator[Trait]:
    """Return traits without imported names, and without a name that a group also has: ``q, k``."""
    together = [trait.what.split() for trait in traits if trait.kind == NAMES]
    said = imported.union(*(names for names in together if len(names) > 1))
    return (trait for trait in traits if trait.kind != NAMES or trait.what not in said)


def _statements(source: str, max_tokens: int) -> Iterator[list[TokenInfo]]:
    """Yield a source's statements, as lists of tokens, without annotations of variables.

    Each comment counts as a statement, and so does the head of a block, such as ``for x in y:``.
    """
    statement: list[TokenInfo] = []
    depth, annotation = 0, False
    for token in _tokens(source, max_tokens):
        if token.type == tokenize.COMMENT:
            yield [token]
            continue
        depth += _depth_change(token)
        if depth <= 0 and token.string == ":" and _is_target(statement):
            annotation = True
        elif token.type == tokenize.NEWLINE or (depth <= 0 and token.string in {":", ";"}):
            if statement:
                yield statement
            statement, depth, annotation = [], 0, False
        elif token.type not in LAYOUT_TOKENS:
            annotation = annotation and (depth > 0 or token.string != "=")
            statement += [] if annotation else [token]
    if statement:
        yield statement


def _is_target(statement: list[TokenInfo]) -> bool:
    """Return whether a variable stands before a colon, so that an annotation comes after it."""
    words = {token.string for token in statement}
    return bool(statement) and words.isdisjoint({"=", *keyword.kwlist})


def _depth_change(token: TokenInfo) -> int:
    if token.type != tokenize.OP:
        return 0
    return (token.string in "([{") - (token.string in ")]}")


def _tokens(source: str, max_tokens: int) -> Iterator[TokenInfo]:
    """Yield tokens; an f-string is one, as in Python 3.11, and so is what cannot be cut up."""
    depth, line = 0, 0
    pieces: list[TokenInfo] = []
    try:
        for count, token in enumerate(tokenize.generate_tokens(io.StringIO(source).readline)):
            if count == max_tokens:
                raise TooLong
            line = token.end[0]
            kind = tokenize.tok_name[token.type]
            depth += kind.endswith("STRING_START") - kind.endswith("STRING_END")
            if depth or kind.endswith("STRING_END"):
                pieces.append(token)
            if not depth:
                yield _joined(pieces) if pieces else token
                pieces = []
    except (tokenize.TokenError, SyntaxError, ValueError):
        rest = "\n".join(source.split("\n")[line:])
        if rest.strip():
            yield TokenInfo(tokenize.ERRORTOKEN, rest, (line + 1, 0), (line + 1, 0), "")


def _joined(pieces: list[TokenInfo]) -> TokenInfo:
    text = "".join(piece.string for piece in pieces)
    return pieces[0]._replace(type=tokenize.STRING, string=text, end=pieces[-1].end)


def _traits(statement: list[TokenInfo], stub_words: frozenset[str]) -> Iterator[Trait]:
    first, last = statement[0].start[0], statement[-1].end[0]
    shape = _shape(statement, stub_words)
    if statement[0].string not in DICTATED_STATEMENTS and len(shape) >= MIN_STATEMENT_TOKENS:
        yield Trait(STRUCTURE, " ".join(shape), first, last)
    for name in _own_names(statement, stub_words):
        yield Trait(NAMES, name, first, last)
    yield from _text_traits(token for token in statement if token.type == tokenize.STRING)


def _with_two_before(statement: list[TokenInfo]) -> Iterator[tuple[str, str, TokenInfo]]:
    """Pair each token with the texts of the two before it."""
    texts = ["", "", *(token.string for token in statement)]
    return zip(texts, texts[1:], statement, strict=False)


def _shape(statement: list[TokenInfo], stub_words: frozenset[str]) -> list[str]:
    """Return a statement's tokens without what its author chose: names, the text of strings."""
    shape: list[str] = []
    for before, dot, token in _with_two_before(statement):
        text = token.string
        if text in IGNORED_PUNCTUATION:
            continue
        if token.type == tokenize.STRING:
            shape.append("S")
        elif token.type != tokenize.NAME:
            shape.append(_spelling(token))
        elif (
            text in stub_words
            if dot == "." and before == "self"
            else dot == "." or text in RESERVED_NAMES
        ):
            shape.append(text)  # a name from the contract, torch or Python, not the author's
        else:
            shape.append("V")
    return shape


def _spelling(token: TokenInfo) -> str:
    if token.type == tokenize.STRING:
        return _literal_text(token.string)
    if token.type == tokenize.NUMBER:
        try:
            return repr(float(token.string))  # .5 is 0.5
        except ValueError:
            return token.string
    return token.string


def _literal_text(text: str) -> str:
    """Return a string literal without its prefix and quotes."""
    return text.lstrip("rbfutRBFUT").strip("'\"")


def _own_names(statement: list[TokenInfo], stub_words: frozenset[str]) -> list[str]:
    """Return the names that the author chose; those bound together count as one: ``q, k, v``."""
    found: list[str] = []
    together: list[str] = []
    target = next((i for i, token in enumerate(statement) if token.string == "="), 0)
    depth = 0
    for place, (before, dot, token) in enumerate(_with_two_before(statement)):
        depth += _depth_change(token)
        text = token.string
        if (
            token.type != tokenize.NAME
            or text in RESERVED_NAMES
            or text in stub_words
            or text == "self"
        ):
            continue
        if dot == "." and before != "self":
            continue
        after = statement[place + 1].string if place + 1 < len(statement) else ""
        if depth and after == "=" and statement[0].string != "def":
            continue  # a keyword of the function that is called
        (together if place < target and not depth and dot != "." else found).append(text)
    return [*found, " ".join(together)] if together else found


def _text_traits(tokens: Iterable[TokenInfo]) -> Iterator[Trait]:
    """Yield comments and strings, a few words each, so that a long sentence has more weight."""
    for token in tokens:
        inside = token.string if token.type == tokenize.COMMENT else _literal_text(token.string)
        for line, text in enumerate(inside.split("\n"), token.start[0]):
            words = WORDS.findall(text.lower())
            for place in range(0, len(words) - 1, WORDS_PER_TRAIT):  # one word alone is no evidence
                yield Trait(COMMENTS, " ".join(words[place : place + WORDS_PER_TRAIT]), line, line)
