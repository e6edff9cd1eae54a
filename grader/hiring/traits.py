"""What two submissions may share: operations, the names that an author chose, comments.

Operations are compared without names: see ``dataflow``. Names and comments are evidence of their
own, since a name that is rare tells more than the operation that it stands for.
"""

from __future__ import annotations

import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from grader.hiring.dataflow import Contract, TooMuch, read_operations
from grader.hiring.tokens import (
    Statement,
    TooLong,
    is_text,
    own_names,
    phrases,
    spelled,
    statements,
)

STRUCTURE, NAMES, COMMENTS = TRAIT_KINDS = (
    "same structure",
    "same names",
    "same comments or strings",
)
IMPORTS = {"import", "from"}
TraitSets = tuple[frozenset[str], ...]  # the traits of each kind, in the order of TRAIT_KINDS


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
        traits: All traits; one that occurs twice is there twice.
    """

    code: str
    traits: tuple[Trait, ...]

    def trait_sets(self) -> TraitSets:
        """Return three sets of texts: operations, own names, words of comments."""
        return tuple(
            frozenset(sys.intern(trait.what) for trait in self.traits if trait.kind == kind)
            for kind in TRAIT_KINDS
        )


def read_traits(source: str, contract: Contract, max_tokens: int = sys.maxsize) -> SubmissionTraits:
    """Cut a submission into what can be compared.

    Raises:
        TooLong: The submission has more tokens, or makes more values than are followed.
    """
    code: list[str] = []
    traits: list[Trait] = []
    imported: set[str] = set()
    for statement in statements(source, max_tokens):
        if not is_text(statement):
            code.append(spelled(statement))
            if statement[0].string in IMPORTS:
                imported |= {token.string for token in statement}
                continue
        traits.extend(_written(statement, contract))
    try:
        operations = read_operations(source, contract)
    except TooMuch:
        raise TooLong from None
    made = [Trait(STRUCTURE, one.what, one.first, one.last) for one in operations]
    own = [one for one in traits if one.kind != NAMES or one.what not in imported]
    return SubmissionTraits("\n".join(sorted(code)), (*made, *own))


def _written(statement: Statement, contract: Contract) -> Iterator[Trait]:
    """Yield the names of a statement, and what its strings say; of a comment what it says."""
    if not is_text(statement):
        for name in own_names(statement, contract.words):
            yield Trait(NAMES, name, statement[0].start[0], statement[-1].end[0])
    texts = (one for one in statement if one.type in (tokenize.COMMENT, tokenize.STRING))
    for phrase, line in phrases(texts):
        yield Trait(COMMENTS, phrase, line, line)
