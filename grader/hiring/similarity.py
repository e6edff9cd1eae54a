"""Finding submissions of an exercise that are closer than the stub and the exercise explain.

Attention has one canonical form, so two honest people write much the same. What two files share is
therefore weighed by how rare it is among the others: see ``likelihood``. A pair is listed when a
batch of this size would bring hardly one such pair by chance. The list is for a person to look at:
two who followed the same tutorial are on it as well as two who copied.

Winnowing (Schleimer, Wilkerson and Aiken 2003; copydetect is a package of it) samples sequences of
symbols from long files and ignores rarity: among a thousand made-up people it lists 380,000 of
500,000 honest pairs at copydetect's default share, and 370 at the share where it finds a third of
the copies. The files here are short, so each is compared whole, by what it computes: see
``dataflow``. No cut into statements and functions, no order and no name hides that; in twenty such
batches no honest pair is listed, and more than half of the copies are that were cut otherwise
(``python -m benchmarks.similarity``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from grader.hiring.compared import ComparedSubmissions
from grader.hiring.likelihood import ScoredPair
from grader.hiring.strangers import Indices
from grader.hiring.traits import COMMENTS, TRAIT_KINDS
from grader.records import EarlierSubmission, SimilarGroup, Similarity, SimilarPair, Span

SAME_CODE = "same code"
MIN_NAMED_EVIDENCE = math.log(10)  # from which on a kind of trait is named
CODE_KINDS = 2  # of TRAIT_KINDS: operations and names


def find_similar(
    sources: Mapping[str, str],
    stub: str,
    known: Sequence[str] = (),
    max_listed: int = 50,
    earlier: Mapping[str, EarlierSubmission] | None = None,
) -> Similarity:
    """Find the submissions of one exercise that are closer than chance explains.

    Args:
        sources: The text of each submission by its name.
        stub: The text of the stub that everybody was given.
        known: Answers that everybody may know, so that nobody who has one copied from another.
        max_listed: How many pairs, and how many groups, are returned at most.
        earlier: The submissions of earlier batches, by keys that are nobody's name; they are
            compared with those of this batch, not with each other.
    """
    earlier = earlier or {}
    compared = ComparedSubmissions(sources, stub, known, earlier)
    codes, evidence = compared.codes, compared.evidence
    sizes = [len(code.names) for code in codes]
    code = sum(sizes[i] for i in evidence.unusual_enough(CODE_KINDS))
    renamed = sum(sizes[i] for i in evidence.shown_if_renamed())
    too_short = 2 * code < sum(sizes)
    telling = set(evidence.unusual_enough() if too_short else evidence.unexplained())
    close, labels = evidence.nearest()
    close += [evidence.same(i) for i in telling if len(codes[i].everybody) > 1]
    close.sort(key=lambda c: (c.first != c.second, -c.evidence, c))
    pairs = [_pair(one, compared) for one in close[:max_listed]]
    groups = _groups(compared, labels, telling)[:max_listed]
    shown = {name for one in groups for name in one.names} | {one.second for one in pairs}
    says = _summary(sum(sizes), len(earlier), code, renamed, len(close), max_listed)
    return Similarity(
        pairs=tuple(pairs),
        groups=groups,
        compared=sum(sizes),
        left_out=tuple(compared.left_out),
        too_short=too_short,
        says=says,
        earlier={key: one for key, one in earlier.items() if key in shown},
    )


def _groups(
    compared: ComparedSubmissions, labels: Indices, telling: Collection[int]
) -> tuple[SimilarGroup, ...]:
    """Return the groups of three and more, the largest first; of one code only if it is telling."""
    members: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        members.setdefault(label, []).append(place)
    groups = []
    for places in members.values():
        if len(places) > 1 or places[0] in telling:
            codes = [compared.codes[place] for place in places]
            names = sorted(name for code in codes for name in code.names)
            before = sorted(key for code in codes for key in code.earlier)
            groups.append(SimilarGroup((*names, *before), len(places) == 1))
    wide = [group for group in groups if len(group.names) > 2]
    return tuple(sorted(wide, key=lambda group: (-len(group.names), group.names)))


def _pair(close: ScoredPair, compared: ComparedSubmissions) -> SimilarPair:
    """Return a pair with what there is to show of it."""
    same = close.first == close.second
    one, other = compared.codes[close.first], compared.codes[close.second]
    names = one.everybody[:2] if same else [one.everybody[0], other.everybody[0]]
    readings = [compared.read(name) for name in names]
    sets = [reading.trait_sets() for reading in readings]
    shared = compared.evidence.rare([a & b for a, b in zip(*sets, strict=True)])
    spans = []
    for name, reading in zip(names, readings, strict=True):
        marked = [trait for trait in reading.traits if (trait.kind, trait.what) in shared]
        lines = {n for trait in marked for n in range(trait.first, trait.last + 1)}
        spans.append(_spans(lines & compared.own_lines(name)))
    if same:
        texts = [COMMENTS] if any(kind == COMMENTS for kind, _ in shared) else []
        named = [SAME_CODE, *texts]
    else:
        named = _kinds_to_name(compared.evidence.by_kind(close.first, close.second))
    score = round(close.evidence / math.log(10), 2)
    return SimilarPair(names[0], names[1], score, spans[0], spans[1], tuple(named))


def _kinds_to_name(evidence: Sequence[float]) -> list[str]:
    """Return the kinds of trait to name as evidence, strongest first; at least the strongest."""
    order = sorted(zip(evidence, TRAIT_KINDS, strict=True), reverse=True)
    return [kind for weight, kind in order if weight >= MIN_NAMED_EVIDENCE] or [order[0][1]]


def _spans(lines: Iterable[int]) -> tuple[Span, ...]:
    """Return lines as ranges, in order."""
    spans: list[Span] = []
    for line in sorted(lines):
        if spans and line == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], line)
        else:
            spans.append((line, line))
    return tuple(spans)


def _summary(
    compared: int, earlier: int, code: int, renamed: int, found: int, max_listed: int
) -> str:
    """Return the outcome in words.

    Args:
        compared: How many submissions were compared.
        earlier: How many there are of earlier batches.
        code: How many of them hold code that nobody writes again by chance.
        renamed: Of how many a copy would show in which every name is another.
        found: How many pairs are close.
        max_listed: How many pairs are listed at most.
    """
    if not compared or compared + earlier < 2:
        return "Nothing to compare: fewer than two submissions hold code of their own."
    told = ["1 submission compared." if compared == 1 else f"{compared:,} submissions compared."]
    if earlier:
        told.append(f"Compared with {earlier:,} of earlier batches as well.")
    if found > max_listed:
        told.append(f"{found:,} pairs are close, the first {max_listed:,} are listed.")
    if 2 * code < compared:
        shown = f"only {code:,}" if code else "none"
        told.append(
            f"Too short to tell: even the same code would say something of {shown} of them, so "
            "little do they hold beyond the stub and what others write."
        )
    else:
        told.append(
            "A pair is listed when it has the same code, or when a batch of this size would bring "
            "hardly one such pair by chance; a source that both read, such as a tutorial, looks "
            f"like a copy. For {renamed:,} of them a copy would show even with every name and "
            "comment changed, however it is cut into statements and functions."
        )
    return " ".join(told)
