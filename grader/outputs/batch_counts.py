"""Statistics of a batch: how scores are distributed, and which checks tell candidates apart."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.diagnosis.catalogue import catalogue
from grader.records import CheckResult, GradebookRow, Report, Score, Status, Verdict

BINS = 20
MIN_CANDIDATES = 10  # of fewer, a correlation says nothing
UNSCORED = (Status.MISSING, Status.CANNOT_BE_READ, Status.NOT_GRADED, Status.WITHDRAWN)


def share_of(score: Score) -> float:
    """Return the share of the possible points that was earned, from 0 to 1."""
    return score.earned / max(score.possible, 1)


@dataclass(frozen=True)
class ScoreHistogram:
    """The distribution of the candidates' scores.

    Attributes:
        name: The exercise, or ``total``.
        shares: The share of points earned, from 0 to 1, of each candidate who has a score.
        left_out: The number of candidates who have no score.
    """

    name: str
    shares: Sequence[float]
    left_out: int

    @property
    def bins(self) -> list[tuple[int, int, int]]:
        """Each bin's bounds in percent and its count; full marks are in the last bin."""
        step = 100 // BINS
        # Rounded, so that 0.15 is in the bin that begins with it.
        places = Counter(min(int(round(share * BINS, 9)), BINS - 1) for share in self.shares)
        return [(step * i, step * (i + 1), places[i]) for i in range(BINS)]

    @property
    def fullest_count(self) -> int:
        """The count of the fullest bin; 1 if all bins are empty."""
        return max(1, *(count for _, _, count in self.bins))

    @property
    def says(self) -> str:
        """A sentence with median, middle half, and how many earned everything or nothing."""
        if not self.shares:
            return "nobody has a score"
        ranked = sorted(self.shares)
        low, high = (ranked[round(part * (len(ranked) - 1))] for part in (0.25, 0.75))
        median = statistics.median(ranked)
        full = sum(share >= 1 for share in self.shares)
        none = sum(share <= 0 for share in self.shares)
        return (
            f"median {100 * median:.0f} %, the middle half from {100 * low:.0f} to "
            f"{100 * high:.0f} %; "
            f"{full:,} with everything, {none:,} with nothing"
        )


def histograms(exercises: Sequence[str], rows: Sequence[GradebookRow]) -> list[ScoreHistogram]:
    """Return the distribution of the totals, then that of each exercise."""
    totals = [row.total for row in rows if row.total is not None]
    found = [ScoreHistogram("total", totals, len(rows) - len(totals))]
    for number, name in enumerate(exercises):
        scores = (row.scores[number] for row in rows)
        shares = [share_of(one) for one in scores if one.status not in UNSCORED]
        found.append(ScoreHistogram(name, shares, len(rows) - len(shares)))
    return found


@dataclass
class CheckCount:
    """The results of one check, over all candidates whose file could be tried.

    Attributes:
        rest: Sum of the candidates' shares: of the points of all other checks, the part earned.
        squares: Sum of the squares of these shares.
        rest_passed: Sum of these shares over the candidates who passed the check.
    """

    name: str
    points: int
    claim: str
    tried: int = 0
    passed: int = 0
    rest: float = 0.0
    squares: float = 0.0
    rest_passed: float = 0.0

    def add(self, passed: bool, rest: float) -> None:
        """Count one candidate, who earned the share ``rest`` of all other checks."""
        self.tried += 1
        self.rest += rest
        self.squares += rest * rest
        if passed:
            self.passed += 1
            self.rest_passed += rest

    @property
    def correlation(self) -> float | None:
        """Point-biserial correlation of passing this check with the share earned by all others.

        None for fewer than ``MIN_CANDIDATES`` candidates, or if passing or that share is the same
        for all.
        """
        failed = self.tried - self.passed
        if self.tried < MIN_CANDIDATES or not (self.passed and failed):
            return None
        variance = self.squares / self.tried - (self.rest / self.tried) ** 2
        if variance < 1e-12:
            return None
        apart = self.rest_passed / self.passed - (self.rest - self.rest_passed) / failed
        return apart / math.sqrt(variance) * math.sqrt(self.passed * failed) / self.tried

    @property
    def says(self) -> str:
        """Why the check tells nobody apart, for a check without a correlation."""
        if self.passed == self.tried:
            return "everybody passes"
        if not self.passed:
            return "nobody passes"
        return "too few to say" if self.tried < MIN_CANDIDATES else "the rest is the same for all"


@dataclass
class ExerciseChecks:
    """The checks of one exercise, in the suite's order."""

    exercise: str
    tried: int = 0
    counts: dict[str, CheckCount] = field(default_factory=dict)

    def add(self, report: Report) -> None:
        """Count the report of one candidate, unless nothing in the file could be tried."""
        if report.problem or report.untouched:
            return
        self.tried += 1
        earned = sum(check.earned for check in report.checks)
        possible = sum(check.possible for check in report.checks)
        for check in report.checks:
            if check.verdict is not Verdict.SKIP:
                count = self.counts.setdefault(check.name, _fresh(check))
                others = possible - check.possible
                rest = (earned - check.earned) / others if others else 0.0
                count.add(check.verdict is Verdict.PASS, rest)

    @property
    def ordered(self) -> list[CheckCount]:
        """The checks, with those that tell candidates apart most clearly first."""
        return sorted(
            self.counts.values(),
            key=lambda one: -math.inf if one.correlation is None else one.correlation,
            reverse=True,
        )


def _fresh(check: CheckResult) -> CheckCount:
    return CheckCount(check.name, check.points, check.claim)


@dataclass(frozen=True)
class MistakeCount:
    """A mistake, and how often it was made.

    Attributes:
        says: The mistake as a clause; empty where nothing explains it any more.
        times: The number of candidates in whose files it was found; or of a learner's gradings.
        exercises: The exercises in which it was found.
    """

    name: str
    says: str
    times: int
    exercises: tuple[str, ...]


def count_mistakes(
    exercises: Sequence[str], rows: Iterable[GradebookRow], edits: Mapping[str, str]
) -> list[MistakeCount]:
    """Return the mistakes that were found, the most frequent first.

    Args:
        exercises: The names of the exercises, in the order of the scores.
        rows: The candidates' rows.
        edits: What each mistake is that the catalogue does not have, by name.
    """
    times: Counter[str] = Counter()
    where: dict[str, dict[str, None]] = {}
    for row in rows:
        times.update({name for score in row.scores for name in score.diagnosis})
        for exercise, score in zip(exercises, row.scores, strict=True):
            for name in score.diagnosis:
                where.setdefault(name, {})[exercise] = None
    known = {**edits, **{name: one.says for name, one in catalogue().items()}}
    return [
        MistakeCount(name, known.get(name, ""), count, tuple(where[name]))
        for name, count in sorted(times.items(), key=lambda item: (-item[1], item[0]))
    ]
