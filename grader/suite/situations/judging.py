"""Judge the outcomes of all situations: which claims fail, and under which conditions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.sandbox.errors import SubmissionError
from grader.sandbox.workers import WorkerEnded
from grader.suite.compare import CheckFailed
from grader.suite.situations import dtype, gradients, history, lengths
from grader.suite.situations.describing import SIZE_FACTORS, Condition, describe, shared_levels
from grader.suite.situations.outcomes import ENDS, Aspect, SituationLike, SituationOutcome
from grader.suite.situations.tokens import LAYOUT_CLAIMS, is_layout

DEFAULT_CLAIM = "matches_the_formula"  # fails if no other claim is about what is wrong
CLAIMS_BY_ASPECT: dict[Aspect, tuple[str, ...]] = {
    Aspect.CHANGED: ("changes_no_input",),
    Aspect.LEFT: history.CLAIMS,
    Aspect.FORM: ("keeps_shape_and_dtype",),
    Aspect.GRADIENT: gradients.CLAIMS,
}
ClaimsAbout = Callable[[Sequence[SituationLike]], Sequence[str]]
# Returns which claims fail, by the factor that describes the situations that fail.
CLAIMS_BY_FACTOR: dict[str, ClaimsAbout] = {
    "T": lengths.claims_about_length,
    "B": lengths.claims_about_batch,
    "dtype": dtype.claims_about,
    "history": lambda failed: history.CLAIMS,
}
# Which situations a claim is about, unless it is about all or about those that name it themselves.
CLAIM_APPLIES_TO: dict[str, Callable[[SituationLike], bool]] = {
    **lengths.APPLIES_TO, **dtype.APPLIES_TO, **gradients.APPLIES_TO, **history.APPLIES_TO,
}  # fmt: skip
PLAIN_LEVELS = {"ordinary", "first call", "contiguous", "float32"}
# Aspects that are judged together.
TOGETHER = [ENDS if one in ENDS else (one,) for one in Aspect if one is not Aspect.ENDED]
# If this many times as many situations are wrong as have wrong gradients alone, or they all share a
# level, the latter are not reported by themselves: by chance no value shows the mistake there.
MAX_WRONG_PER_GRADIENT = 5
MIN_FAILURES = 3  # what fewer situations have in common may be chance
MAX_RARE_SHARE = 1 / 8  # of all situations, of which no claim of its own says what is wrong


@dataclass(frozen=True)
class FurtherClaims:
    """The claims that only one kind of contract has.

    Attributes:
        by_factor: Returns which claims fail, by the factor that describes where.
        applies_to: Which situations a claim is about, unless it is about all.
    """

    by_factor: dict[str, ClaimsAbout] = field(default_factory=dict)
    applies_to: dict[str, Callable[[SituationLike], bool]] = field(default_factory=dict)


NO_FURTHER_CLAIMS = FurtherClaims()


@dataclass(frozen=True)
class Judgement:
    """The outcomes of all situations, and the claims that fail because of them.

    Attributes:
        outcomes: The outcome of each situation.
        failures: The exception that a claim fails with, by the claim's name.
        skipped: Why a claim cannot be checked, by the claim's name.
        inner_outcomes: The outcomes of the situations of the contract's parts.
        rare: The claims that fail because of a few wrong values or gradients alone.
    """

    outcomes: tuple[SituationOutcome, ...]
    failures: dict[str, Exception]
    skipped: dict[str, str] = field(default_factory=dict)
    inner_outcomes: tuple[SituationOutcome, ...] = ()
    rare: frozenset[str] = frozenset()

    @property
    def wrong(self) -> list[SituationOutcome]:
        """The outcomes that are not right: the submission is wrong, or was not tried to the end."""
        return [one for one in self.outcomes if one.aspect is not None]

    def with_part(self, other: Judgement) -> Judgement:
        """Return this judgement with that on a part of the contract added.

        If both have a reason for which a claim fails, that of this judgement counts.
        """
        inner_outcomes = (*self.inner_outcomes, *other.outcomes)
        failures = {**other.failures, **self.failures}
        rare = self.rare | (other.rare - self.failures.keys())
        return replace(self, failures=failures, inner_outcomes=inner_outcomes, rare=rare)


def judge(
    outcomes: Sequence[SituationOutcome],
    claims: frozenset[str],
    of: str = "",
    too_slow: str = "",
    further: FurtherClaims = NO_FURTHER_CLAIMS,
) -> Judgement:
    """Judge which claims fail because of the outcomes.

    Args:
        outcomes: The outcomes of all situations.
        claims: The names of the claims that the suite checks.
        of: Which part of the submission the messages are about; empty for the whole.
        too_slow: Why no long sequence could be tried; empty if one was.
        further: What is known of claims that only this kind of contract has.
    """
    failures: dict[str, Exception] = {}
    rare: set[str] = set()
    by_factor = CLAIMS_BY_FACTOR | further.by_factor
    # A level of these that all failures share may tell the claim.
    layouts = {name for one in outcomes for name in one.row if is_layout(name)}
    telling = {*by_factor, *layouts} - {*SIZE_FACTORS}
    wrong = [one for one in outcomes if one.aspect is not None]
    says = f"{of}right in {len(outcomes) - len(wrong)} of {len(outcomes)} situations"
    known = [one for one in outcomes if one.is_known]
    shared = _shared_by_numbers(known, telling)
    for aspects in TOGETHER:
        aspect, failed = aspects[0], [one for one in wrong if one.aspect in aspects]
        if failed and not (
            aspect is Aspect.GRADIENT
            and (shared or MAX_WRONG_PER_GRADIENT * len(failed) < len(wrong))
        ):
            here = [one.situation for one in failed]
            others = [
                one.situation for one in known if one.aspect not in aspects and not one.is_spared
            ]
            where = describe(here, others)
            # Two conditions that fit together may be chance, which what all share hardly ever is.
            sure = where if where and len(where) == 1 else shared_levels(here, others, telling)
            near = sure or where
            near = near or (shared if aspect is Aspect.VALUE else ())
            may_be = (
                () if aspect is Aspect.UNTRIED else _candidates(aspect, near, failed, by_factor)
            )
            claim = next((name for name in may_be if name in claims), DEFAULT_CLAIM)
            if claim in failures:
                continue
            failures[claim] = _reason(failed, where, says)
            most = MAX_RARE_SHARE * len(outcomes) if claim == DEFAULT_CLAIM else MIN_FAILURES - 1
            is_rare = len(failed) <= most
            if aspect in (Aspect.VALUE, Aspect.GRADIENT) and is_rare:
                rare.add(claim)
    if len(known) < len(outcomes) and not of:
        for claim in claims - failures.keys():
            about = _outcomes_about(claim, outcomes, further)
            if about and not any(one.is_known for one in about):
                failures[claim] = _reason(about, None, says)
    skipped = dict.fromkeys(lengths.LONG_CLAIMS, too_slow) if too_slow else {}
    return Judgement(tuple(outcomes), failures, skipped, rare=frozenset(rare))


def _shared_by_numbers(
    known: Sequence[SituationOutcome], telling: Collection[object]
) -> tuple[Condition, ...]:
    """Return the levels that all wrong values and gradients share; none if one kind is missing."""
    numbers = {Aspect.VALUE, Aspect.GRADIENT}
    if not numbers <= {one.aspect for one in known}:
        return ()
    failed = [one.situation for one in known if one.aspect in numbers]
    others = [one.situation for one in known if one.aspect not in numbers]
    return shared_levels(failed, others, telling)


def _outcomes_about(
    claim: str, outcomes: Sequence[SituationOutcome], further: FurtherClaims
) -> Sequence[SituationOutcome]:
    """Return the outcomes of the situations that a claim is about: all if none names it."""
    applies_to = CLAIM_APPLIES_TO | further.applies_to
    if claim in applies_to:
        return [one for one in outcomes if applies_to[claim](one.situation)]
    return [one for one in outcomes if claim in one.situation.further_claims] or outcomes


def _candidates(
    aspect: Aspect,
    where: tuple[Condition, ...] | None,
    failed: Sequence[SituationOutcome],
    by_factor: Mapping[str, ClaimsAbout],
) -> list[str]:
    """Return the names of claims that may be about what fails, the likeliest first."""
    found = list(CLAIMS_BY_ASPECT.get(aspect, ()))
    here = [one.situation for one in failed]
    for condition in where or ():
        if PLAIN_LEVELS & {one.row.get(condition.factor) for one in failed}:
            continue  # it fails in the plainest case as well
        if is_layout(condition.factor):
            found += LAYOUT_CLAIMS
        elif condition.factor in by_factor:
            found += by_factor[condition.factor](here)
    about = [one.further_claims for one in here]
    return [*found, *(name for name in about[0] if all(name in names for names in about))]


def _reason(
    failed: Sequence[SituationOutcome], where: tuple[Condition, ...] | None, says: str
) -> Exception:
    """Return the exception to fail a claim with, which also says in which situations it fails.

    It is the reason of the smallest failed situation, or of the first that took too long or ended
    the worker.
    """
    ends = [one for one in failed if one.aspect in ENDS]
    smallest = ends[0] if ends else min(failed, key=lambda one: one.situation.size)
    reason, aspect = smallest.reason, smallest.aspect
    assert reason is not None
    assert aspect is not None
    of_size = where and where[0].factor in smallest.situation.sizes and where[0].factor not in "TS"
    if where and (len(failed) >= MIN_FAILURES or (len(where) == 1 and not of_size)):
        says += f"; {aspect} in every one with {' and '.join(c.says for c in where)}"
    if isinstance(reason, CheckFailed):
        return CheckFailed(f"{reason}\n{says}", reason.difference, reason.comparison)
    if isinstance(reason, SubmissionError | WorkerEnded):
        reason.where = says
    return reason
