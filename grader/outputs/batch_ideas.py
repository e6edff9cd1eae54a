"""Points for each idea, such as scale, mask or heads, and the reason for a score in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.records import CheckResult, GradebookRow, Report, Status, Verdict

DEFAULT_IDEA = "robustness"  # of a check that is about none of the kit's ideas
MAX_NAMED_IDEAS = 4  # in a line of the table
Ideas = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class IdeaScore:
    """The points of all checks that are about one idea, such as scale or mask."""

    earned: int
    possible: int

    @property
    def percent(self) -> int:
        """The share of the possible points that was earned, in percent; 0 if none are possible."""
        return round(100 * self.earned / max(self.possible, 1))


def names_of(ideas: Ideas) -> list[str]:
    """Return the names of a kit's ideas, such as ``mask``, in its order, then ``robustness``.

    For a kit without ideas, return no name.
    """
    return [*ideas, DEFAULT_IDEA] if ideas else []


def idea_of(check: str, ideas: Ideas) -> str:
    """Return the idea that a check is about; ``robustness`` where none matches.

    That is the first idea of which a word stands in the check's name, at the start of a word.
    """
    name = check.removeprefix("test")
    found = (idea for idea, words in ideas.items() if any(f"_{word}" in name for word in words))
    return next(found, DEFAULT_IDEA)


def points_by_idea(reports: Sequence[Report], ideas: Ideas) -> dict[str, IdeaScore]:
    """Return the points of each idea, such as ``mask``, that has points to earn, in kit order.

    Args:
        reports: One for each exercise; that of a file that could not be tried is left out.
        ideas: The kit's ideas, each with the words that occur in the names of its checks.
    """
    earned, possible = (dict.fromkeys(names_of(ideas), 0) for _ in range(2))
    for check in (check for one in reports if not one.problem for check in one.checks):
        if ideas:
            idea = idea_of(check.name, ideas)
            earned[idea] += check.earned
            possible[idea] += check.possible
    return {name: IdeaScore(earned[name], most) for name, most in possible.items() if most}


def why(row: GradebookRow, scores: Mapping[str, IdeaScore], reports: Sequence[Report] = ()) -> str:
    """Return the mistakes found; else what most checks end by; else the ideas that lose points."""
    known = dict.fromkeys(name for score in row.scores for name in score.diagnosis)
    if said := known or dict.fromkeys(filter(None, map(_ends_by, reports))):
        return ", ".join(said)
    graded = any(one.status in (Status.GRADED, Status.DISAGREES) for one in row.scores)
    missing = [name for name, one in scores.items() if one.earned < one.possible]
    if not (graded and missing):
        return ""
    more = f" and {len(missing) - MAX_NAMED_IDEAS} more" if len(missing) > MAX_NAMED_IDEAS else ""
    return f"loses points in {', '.join(missing[:MAX_NAMED_IDEAS])}{more}"


def _ends_by(report: Report) -> str:
    """Return what most of the lost checks end by: the time, or an exception; empty for neither."""
    lost = [] if report.problem or report.untouched else [c for c in report.checks if c.is_lost]
    (most, _), *_ = Counter(map(_end_of, lost)).most_common(1) or [("", 0)]
    return most


def _end_of(check: CheckResult) -> str:
    if check.verdict is Verdict.TIMEOUT:
        return "takes too long"
    return f"raises {check.fault.type}" if check.fault else ""
