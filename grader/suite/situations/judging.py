"""Which check is told of what fails, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.sandbox.errors import SubmissionError
from grader.suite.compare import CheckFailed
from grader.suite.situations.describing import Condition, describe
from grader.suite.situations.levels import layout_of
from grader.suite.situations.outcomes import Aspect, Outcome

WHOLE = "matches_the_formula"  # the claim that is told of what is no other's
# Which claim is told of what fails where, by what is wrong and by the factor that tells where.
TOLD: dict[Aspect | str, tuple[str, ...]] = {
    Aspect.CHANGED: ("changes_no_input",),
    Aspect.LEFT: ("remembers_nothing",),
    Aspect.FORM: ("keeps_shape_and_dtype",),
    Aspect.GRADIENT: ("parameter_gradients_are_right", "input_gradient_is_right"),
    "history": ("remembers_nothing",),
    "dtype of the mask": ("mask_dtypes_mean_the_same",),
    "numbers in the mask": ("mask_dtypes_mean_the_same",),
    "mask given": ("mask_dtypes_mean_the_same",),
    "mask": ("mask_broadcasts",),
    "pattern of the mask": ("matches_the_formula_under_a_mask",),
    "T": (
        "handles_a_long_sequence",
        "handles_a_long_sequence_from_its_start",
        "handles_a_single_token",
    ),
    "B": ("handles_a_single_token",),
    "x": ("large_scores_stay_finite",),
}
BY_DTYPE = {"float64": "computes_in_float64", "bfloat16": "computes_in_bfloat16"}


@dataclass(frozen=True)
class Judgement:
    """What came of all situations.

    Attributes:
        outcomes: Of each.
        told: What a claim fails by, by the claim's name.
    """

    outcomes: tuple[Outcome, ...]
    told: dict[str, Exception]

    def beside(self, other: Judgement) -> Judgement:
        """Both; a claim that is told by both is told by this one."""
        return Judgement((*self.outcomes, *other.outcomes), {**other.told, **self.told})


def judge(outcomes: Sequence[Outcome], claims: frozenset[str], of: str = "") -> Judgement:
    """Which claim is told of what fails, out of those that a suite makes; ``of`` what it fails."""
    told: dict[str, Exception] = {}
    wrong = [one for one in outcomes if one.aspect is not None]
    says = f"{of}right in {len(outcomes) - len(wrong)} of {len(outcomes)} situations"
    for aspect in Aspect:
        failed = [one for one in wrong if one.aspect is aspect]
        if failed:
            others = [one.situation for one in outcomes if one.aspect is not aspect]
            where = describe([one.situation for one in failed], others)
            claim = _claim(aspect, where, failed, claims)
            told.setdefault(claim, _reason(failed, where, says))
    return Judgement(tuple(outcomes), told)


def _claim(
    aspect: Aspect,
    where: tuple[Condition, ...] | None,
    failed: Sequence[Outcome],
    claims: frozenset[str],
) -> str:
    """The claim that is about what fails; the whole formula where none is."""
    return next((name for name in _candidates(aspect, where, failed) if name in claims), WHOLE)


def _candidates(
    aspect: Aspect, where: tuple[Condition, ...] | None, failed: Sequence[Outcome]
) -> list[str]:
    found = list(TOLD.get(aspect, ()))
    plain = {"ordinary", "first call", "contiguous", "float32"} & {
        v for o in failed for v in o.row.values()
    }
    for condition in where or ():
        names = _told(condition.factor)
        if plain & {one.row.get(condition.factor) for one in failed}:
            continue  # it fails in the plainest case as well
        if condition.factor == "T" and max(one.situation.sizes.T for one in failed) <= 2:
            names = names[::-1]
        found += names
        if condition.factor == "dtype":
            found += [BY_DTYPE[d] for d in {one.row["dtype"] for one in failed} if d in BY_DTYPE]
    about = [one.situation.about for one in failed]
    return [*found, *(name for name in about[0] if all(name in names for names in about))]


def _told(factor: str) -> tuple[str, ...]:
    if factor.startswith(layout_of("")):
        return ("handles_non_contiguous_input",)
    return TOLD.get(factor, ())


def _reason(failed: Sequence[Outcome], where: tuple[Condition, ...] | None, says: str) -> Exception:
    """The failure at the smallest situation, and where else."""
    smallest = min(failed, key=lambda one: one.situation.size)
    reason, aspect = smallest.reason, smallest.aspect
    assert reason is not None
    assert aspect is not None
    if where:
        says += f"; {aspect} in every one with {' and '.join(c.says for c in where)}"
    if isinstance(reason, CheckFailed):
        return CheckFailed(f"{reason}\n{says}", reason.difference, reason.comparison)
    if isinstance(reason, SubmissionError):
        reason.where = says
    return reason
