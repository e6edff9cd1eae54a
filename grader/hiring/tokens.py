"""Cutting a submission into statements, the names that its author chose, and sentences.

A statement is compared without what anybody may change without thinking: layout, round brackets,
commas, quotes, annotations. A file that does not parse is read as far as it can be cut into tokens.
"""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterable, Iterator
from tokenize import TokenInfo

WORDS = re.compile(r"\w+")
RESERVED_NAMES = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
LAYOUT_TOKENS = {
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.NEWLINE,
}
IGNORED_PUNCTUATION = {"(", ")", ","}
WORDS_PER_TRAIT = 4  # of a comment or a string

Statement = list[TokenInfo]


class TooLong(Exception):
    """A submission has more tokens than are read."""


def statements(source: str, max_tokens: int) -> Iterator[Statement]:
    """Yield a source's statements, as lists of tokens, without annotations of variables.

    Each comment counts as a statement, and so does the head of a block, such as ``for x in y:``.

    Raises:
        TooLong: The source has more tokens than that.
    """
    statement: Statement = []
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


def _is_target(statement: Statement) -> bool:
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
            if token.type == tokenize.ERRORTOKEN:
                raise SyntaxError  # past one, a line is searched again for each of its characters
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


def is_text(statement: Statement) -> bool:
    """Return whether a statement is a comment or a docstring."""
    return all(token.type in (tokenize.COMMENT, tokenize.STRING) for token in statement)


def spelled(statement: Statement) -> str:
    """Return a statement without what anybody may change without thinking."""
    return " ".join(_spelling(t) for t in statement if t.string not in IGNORED_PUNCTUATION)


def _with_two_before(statement: Statement) -> Iterator[tuple[str, str, TokenInfo]]:
    """Pair each token with the texts of the two before it."""
    texts = ["", "", *(token.string for token in statement)]
    return zip(texts, texts[1:], statement, strict=False)


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


def own_names(statement: Statement, stub_words: frozenset[str]) -> Iterator[str]:
    """Yield the names of a statement that the author chose."""
    depth = 0
    for place, (before, dot, token) in enumerate(_with_two_before(statement)):
        depth += _depth_change(token)
        text = token.string
        given = text in RESERVED_NAMES or text in stub_words or text == "self"
        if token.type != tokenize.NAME or given or (dot == "." and before != "self"):
            continue
        after = statement[place + 1].string if place + 1 < len(statement) else ""
        if depth and after == "=" and statement[0].string != "def":
            continue  # a keyword of the function that is called
        yield text


def phrases(tokens: Iterable[TokenInfo]) -> Iterator[tuple[str, int]]:
    """Yield what comments and strings say, with its line; a few words each.

    A long sentence has more of them, and so more weight; one word alone is no evidence.
    """
    for token in tokens:
        inside = token.string if token.type == tokenize.COMMENT else _literal_text(token.string)
        for line, text in enumerate(inside.split("\n"), token.start[0]):
            words = WORDS.findall(text.lower())
            for place in range(0, len(words) - 1, WORDS_PER_TRAIT):
                yield " ".join(words[place : place + WORDS_PER_TRAIT]), line
