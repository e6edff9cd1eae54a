"""Points by idea, as scale, mask, heads; and in a few words, why a score is what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.records import Report, Row, Status

REST = "robustness"  # what a check is about that is about none of a kit's ideas
SHOWN = 4  # ideas that are named in a line of a table
Ideas = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class IdeaScore:
    """Points of all checks that are about an idea."""

    earned: int
    possible: int

    @property
    def percent(self) -> int:
        """The share, of at least one point."""
        return round(100 * self.earned / max(self.possible, 1))


def names_of(ideas: Ideas) -> list[str]:
    """All of them, in the kit's order; none where the kit has none."""
    return [*ideas, REST] if ideas else []


def idea_of(check: str, ideas: Ideas) -> str:
    """What a check is about: the first idea of which a word of its name begins so."""
    name = check.removeprefix("test")
    found = (idea for idea, words in ideas.items() if any(f"_{word}" in name for word in words))
    return next(found, REST)


def by_idea(reports: Sequence[Report], ideas: Ideas) -> dict[str, IdeaScore]:
    """The points of each idea that something was asked about, in the kit's order.

    Args:
        reports: One for each exercise; one that could not be tried counts for nothing.
        ideas: The kit's.
    """
    earned, possible = (dict.fromkeys(names_of(ideas), 0) for _ in range(2))
    for check in (check for one in reports if not one.problem for check in one.checks):
        if ideas:
            idea = idea_of(check.name, ideas)
            earned[idea] += check.earned
            possible[idea] += check.possible
    return {name: IdeaScore(earned[name], most) for name, most in possible.items() if most}


def why(row: Row, scores: Mapping[str, IdeaScore]) -> str:
    """What is known to be wrong, by name; where nothing is, what loses points."""
    known = dict.fromkeys(name for score in row.scores for name in score.diagnosis)
    if known:
        return ", ".join(known)
    graded = any(one.status in (Status.GRADED, Status.DISAGREES) for one in row.scores)
    missing = [name for name, one in scores.items() if one.earned < one.possible]
    if not (graded and missing):
        return ""
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return f"loses points in {', '.join(missing[:SHOWN])}{more}"
