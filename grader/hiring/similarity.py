"""Finding submissions of an exercise that are closer than the stub and the exercise explain.

Attention has one canonical form, so two honest people write much the same. What two files share is
therefore weighed by how rare it is among the others: see ``likelihood``. A pair is listed when a
batch of this size would bring hardly one such pair by chance. The list is for a person to look at:
two who followed the same tutorial are on it as well as two who copied.

Winnowing (Schleimer, Wilkerson and Aiken 2003; copydetect is a package of it) samples sequences of
symbols from long files and ignores rarity: among a thousand made-up people it lists 390,000 of
500,000 honest pairs at copydetect's default share, and 370 at the share where it finds a third of
the copies. The files here are short, so each is compared whole, and statement by statement, so that
a changed order hides nothing. When pairs are ranked, one and a half times as many copies then come
before the first honest pair as with sequences of five tokens, weighed in the same way.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.hiring.likelihood import Evidence, Indices, ScoredPair
from grader.hiring.tokens import COMMENTS, TRAIT_KINDS, TooLong, TraitSets, read_traits, words_of
from grader.records import LeftOut, SimilarGroup, Similarity, SimilarPair, Span

MAX_SUBMISSION_CHARS = 1 << 16  # a longer submission is not compared
MAX_TOKENS = 4_000  # tokens; six times as many as our longest answer holds
SAME_CODE = "same code"
MIN_NAMED_EVIDENCE = math.log(10)  # from which on a kind of trait is named


@dataclass(frozen=True)
class _SameCode:
    """Submissions with the same code: names in alphabetical order, and the traits of the first."""

    names: list[str]
    trait_sets: TraitSets


def find_similar(
    sources: Mapping[str, str], stub: str, known: Sequence[str] = (), max_listed: int = 50
) -> Similarity:
    """Find the submissions of one exercise that are closer than chance explains.

    Args:
        sources: The text of each submission by its name.
        stub: The text of the stub that everybody was given.
        known: Right answers that were written independently, which show what is usual.
        max_listed: How many pairs, and how many groups, are returned at most.
    """
    stub_words = words_of(stub)
    codes, left_out = _group_by_code(sources, stub, stub_words)
    evidence = Evidence(
        [code.trait_sets for code in codes],
        [read_traits(source, stub_words).trait_sets() for source in known],
        read_traits(stub, stub_words).trait_sets(),
    )
    close, labels = evidence.nearest()
    close += [evidence.same(i) for i, code in enumerate(codes) if len(code.names) > 1]
    close.sort(key=lambda c: (c.first != c.second, -c.evidence, c))
    sizes = [len(code.names) for code in codes]
    whole, structure = (
        sum(sizes[i] for i in evidence.unusual_enough(n)) for n in (len(TRAIT_KINDS), 1)
    )
    return Similarity(
        pairs=tuple(_pair(c, codes, evidence, sources, stub_words) for c in close[:max_listed]),
        groups=_groups(codes, labels)[:max_listed],
        compared=sum(sizes),
        left_out=tuple(left_out),
        too_short=2 * whole < sum(sizes),
        says=_summary(sum(sizes), whole, structure, len(close), max_listed),
    )


def _group_by_code(
    sources: Mapping[str, str], stub: str, stub_words: frozenset[str]
) -> tuple[list[_SameCode], list[LeftOut]]:
    untouched = read_traits(stub, stub_words).code
    codes: dict[bytes, _SameCode] = {}
    left_out: list[LeftOut] = []
    for name, source in sorted(sources.items()):
        try:
            reading = (
                read_traits(source, stub_words, MAX_TOKENS)
                if len(source) <= MAX_SUBMISSION_CHARS
                else None
            )
        except TooLong:
            reading = None
        if reading is None:
            left_out.append(LeftOut(name, "too long to compare"))
        elif not reading.code:
            left_out.append(LeftOut(name, "holds no code"))
        elif reading.code == untouched:
            left_out.append(LeftOut(name, "is the stub"))
        else:
            digest = hashlib.sha256(reading.code.encode("utf-8", "surrogatepass")).digest()
            codes.setdefault(digest, _SameCode([], reading.trait_sets())).names.append(name)
    return list(codes.values()), left_out


def _groups(codes: Sequence[_SameCode], labels: Indices) -> tuple[SimilarGroup, ...]:
    members: dict[int, list[_SameCode]] = {}
    for code, label in zip(codes, labels.tolist(), strict=True):
        members.setdefault(label, []).append(code)
    groups = [
        SimilarGroup(
            tuple(sorted(name for code in together for name in code.names)), len(together) == 1
        )
        for together in members.values()
    ]
    wide = [group for group in groups if len(group.names) > 2]
    return tuple(sorted(wide, key=lambda group: (-len(group.names), group.names)))


def _pair(
    close: ScoredPair,
    codes: Sequence[_SameCode],
    evidence: Evidence,
    sources: Mapping[str, str],
    stub_words: frozenset[str],
) -> SimilarPair:
    same = close.first == close.second
    names = codes[close.first].names[:2] if same else [codes[i].names[0] for i in close[:2]]
    readings = [read_traits(sources[name], stub_words) for name in names]
    shared = evidence.rare(
        [a & b for a, b in zip(*(r.trait_sets() for r in readings), strict=True)]
    )
    spans = [
        _spans((t.first, t.last) for t in reading.traits if (t.kind, t.what) in shared)
        for reading in readings
    ]
    if same:
        named = [SAME_CODE, *([COMMENTS] if any(kind == COMMENTS for kind, _ in shared) else [])]
    else:
        named = _kinds_to_name(evidence.by_kind(close.first, close.second))
    score = round(close.evidence / math.log(10), 2)
    return SimilarPair(names[0], names[1], score, spans[0], spans[1], tuple(named))


def _kinds_to_name(evidence: Sequence[float]) -> list[str]:
    """Return the kinds of trait to name as evidence, strongest first; at least the strongest."""
    order = sorted(zip(evidence, TRAIT_KINDS, strict=True), reverse=True)
    return [kind for weight, kind in order if weight >= MIN_NAMED_EVIDENCE] or [order[0][1]]


def _spans(lines: Iterable[Span]) -> tuple[Span, ...]:
    """Return ranges of lines in order, with those that touch or overlap joined."""
    spans: list[Span] = []
    for first, last in sorted(lines):
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        else:
            spans.append((first, last))
    return tuple(spans)


def _summary(compared: int, whole: int, structure: int, found: int, max_listed: int) -> str:
    """Return the outcome in words.

    Args:
        compared: How many submissions were compared.
        whole: For how many of them a copy of everything would be noticed.
        structure: For how many of them a copy with every name and comment changed would be noticed.
        found: How many pairs are close.
        max_listed: How many pairs are listed at most.
    """
    if compared < 2:
        return "Nothing to compare: fewer than two submissions hold code of their own."
    told = [f"{compared:,} submissions compared."]
    if found > max_listed:
        told.append(f"{found:,} pairs are close, the first {max_listed:,} are listed.")
    if 2 * whole < compared:
        shown = f"only {whole:,}" if whole else "none"
        told.append(
            f"Too short to tell: even a copy of everything would show for {shown} of "
            "them, so little do they hold beyond the stub and what others write. Files with the "
            "same code are listed all the same."
        )
    else:
        told.append(
            "A pair is listed when a batch of this size would bring hardly one such pair by "
            "chance; a source that both read, such as a tutorial, looks like a copy. A copy of "
            f"everything would show for {whole:,} of them, one with every name and comment changed "
            f"for {structure:,}; otherwise the exercise is too short to tell."
        )
    return " ".join(told)
