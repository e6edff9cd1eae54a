"""What the scores of a batch come to: how they spread, and which checks tell candidates apart."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grader.diagnosis.catalogue import catalogue
from grader.records import CheckResult, Report, Row, Score, Status, Verdict

BINS = 20
FEW = 10  # candidates, below which a correlation says nothing
UNSCORED = (Status.MISSING, Status.CANNOT_BE_READ, Status.NOT_GRADED, Status.WITHDRAWN)


def share_of(score: Score) -> float:
    """What was earned of what could be, from 0 to 1."""
    return score.earned / max(score.possible, 1)


@dataclass(frozen=True)
class ScoreHistogram:
    """How scores spread.

    Attributes:
        name: Of what.
        shares: One for each candidate who has a score, from 0 to 1.
        left_out: How many have none.
    """

    name: str
    shares: Sequence[float]
    left_out: int

    @property
    def bins(self) -> list[tuple[int, int, int]]:
        """From and to in percent, and how many are there; full marks are in the last."""
        step = 100 // BINS
        # Rounded, so that 0.15 is in the bin that begins with it.
        places = Counter(min(int(round(share * BINS, 9)), BINS - 1) for share in self.shares)
        return [(step * i, step * (i + 1), places[i]) for i in range(BINS)]

    @property
    def most(self) -> int:
        """How many are in the fullest bin; at least one."""
        return max(1, *(count for _, _, count in self.bins))

    @property
    def says(self) -> str:
        """Median, the middle half, and how many earned everything or nothing."""
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


def histograms(exercises: Sequence[str], rows: Sequence[Row]) -> list[ScoreHistogram]:
    """The spread of the totals, then that of each exercise."""
    totals = [row.total for row in rows if row.total is not None]
    found = [ScoreHistogram("total", totals, len(rows) - len(totals))]
    for number, name in enumerate(exercises):
        scores = (row.scores[number] for row in rows)
        shares = [share_of(one) for one in scores if one.status not in UNSCORED]
        found.append(ScoreHistogram(name, shares, len(rows) - len(shares)))
    return found


@dataclass
class CheckCount:
    """How one check went, over all candidates whose file could be tried.

    Attributes:
        rest: Sum of the shares that they earned of all other checks.
        squares: Sum of the squares of these.
        rest_passed: Sum of the shares of those who passed.
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
        """Count one candidate."""
        self.tried += 1
        self.rest += rest
        self.squares += rest * rest
        if passed:
            self.passed += 1
            self.rest_passed += rest

    @property
    def separates(self) -> float | None:
        """Point-biserial correlation of passing with the rest; None where there is none."""
        failed = self.tried - self.passed
        if self.tried < FEW or not (self.passed and failed):
            return None
        variance = self.squares / self.tried - (self.rest / self.tried) ** 2
        if variance < 1e-12:
            return None
        apart = self.rest_passed / self.passed - (self.rest - self.rest_passed) / failed
        return apart / math.sqrt(variance) * math.sqrt(self.passed * failed) / self.tried

    @property
    def says(self) -> str:
        """What there is to say where it tells nobody apart."""
        if self.passed == self.tried:
            return "everybody passes"
        if not self.passed:
            return "nobody passes"
        return "too few to say" if self.tried < FEW else "the rest is the same for all"


@dataclass
class Checks:
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
        """Those that tell candidates apart first, the clearest at the top."""
        return sorted(
            self.counts.values(),
            key=lambda one: -math.inf if one.separates is None else one.separates,
            reverse=True,
        )


def _fresh(check: CheckResult) -> CheckCount:
    return CheckCount(check.name, check.points, check.claim)


@dataclass(frozen=True)
class MistakeCount:
    """A mistake that was found.

    Attributes:
        says: What is done, as a clause; empty where the catalogue no longer has it.
        times: In the files of how many candidates.
        exercises: Where.
    """

    name: str
    says: str
    times: int
    exercises: tuple[str, ...]


def mistakes(exercises: Sequence[str], rows: Iterable[Row]) -> list[MistakeCount]:
    """The mistakes by how many candidates made them."""
    times: Counter[str] = Counter()
    where: dict[str, dict[str, None]] = {}
    for row in rows:
        times.update({name for score in row.scores for name in score.diagnosis})
        for exercise, score in zip(exercises, row.scores, strict=True):
            for name in score.diagnosis:
                where.setdefault(name, {})[exercise] = None
    known = catalogue()
    return [
        MistakeCount(name, known[name].says if name in known else "", count, tuple(where[name]))
        for name, count in sorted(times.items(), key=lambda item: (-item[1], item[0]))
    ]
