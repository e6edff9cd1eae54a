"""One situation, tried: what is planned for it, what came, what should have come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.suite.compare import (
    CheckFailed,
    expect,
    expect_close,
    expect_finite,
    expect_gradient,
    expect_integers,
)
from grader.suite.harness import Harness
from grader.suite.situations.filling import LARGER, Situation
from grader.suite.situations.levels import ALL_EQUAL, ORDINARY, RESIDUAL, WAY, is_long
from grader.suite.situations.outcomes import Aspect, Outcome
from grader.suite.situations.planning import plan
from grader.suite.tolerance import Gap, spread

# Relative to the largest expected value: of outputs, of gradients.
TOLERANCES = {
    torch.float32: (2e-5, 1e-4),
    torch.float64: (1e-6, 1e-6),  # 1/√D may have been rounded to float32
    torch.bfloat16: (0.1, 0.0),  # its gradients are compared roughly
}
EXACT = (1e-10, 1e-9)  # in float64, where no constant is rounded
EXACT_FAR = (1e-8, 1e-7)  # the same of scores of a million, whose own rounding is as much larger
# Scores whose rounding shows, in outputs and, where all gradients cancel out, in what is left.
FAR = ("very large", "with a token far above the rest")
CLOSE = (*FAR, "of tokens near one another, far from 0")  # too close for bfloat16
CANCELLED = (*CLOSE, ALL_EQUAL)
ROUGH = 2e-2
NOTHING = 1e-12  # of a gradient: in float64, rounding alone
NOISE = 1000  # roundings, of terms as large as x³, in the gradient of a query or key; √T of them
# Another order of operations rounds otherwise than ours: by so many times as much at most.
TIMES = 100
KINKED = 0.05  # of a gradient's length, where rounding decides on which side of a jump some are
# Of the longest gradient: shorter ones may be rounded by so much in bfloat16.
SHORT, LITTLE = 0.3, 0.15
ROUGHLY = 10  # times as far off as our own in bfloat16 may be what is compared roughly
ASTRAY = 0.25  # of its length is one of our own off in bfloat16: then none of them tells anything

# What is off by up to this part of the largest value is looked at beside noise in every operation:
# a right answer is off by up to so many times as much, in outputs and in gradients.
BORDERLINE = 1e-2
OUTPUT_NOISE, GRADIENT_NOISE = 3, 6
RUNS = 2  # of noise: in one of them all rows are off alike

Tensors = dict[str, Tensor]
_T = TypeVar("_T")


class Tried:
    """A situation whose requests are planned.

    Args:
        harness: Whose plan they go to.
        situation: What is tried.
    """

    def __init__(self, harness: Harness, situation: Situation) -> None:
        self._harness = harness.of(situation.contract)
        missing = self._harness.fit.missing
        self.situation = situation.without(missing) if missing else situation
        self.call = plan(self._harness, self.situation)

    def prepare(self) -> None:
        """Compute what is right, while the worker is busy."""
        _ = self._expected
        if self._compares_gradients:
            _ = self._right_gradients

    def outcome(self) -> Outcome:
        """What came of it; the first of its aspects that is wrong."""
        for aspect, look in (
            (Aspect.FORM, self._look_at_form),
            (Aspect.VALUE, self._look_at_values),
            (Aspect.CHANGED, self._look_at_inputs),
            (Aspect.LEFT, self._look_at_what_is_left),
            (Aspect.GRADIENT, self._look_at_gradients),
        ):
            try:
                look()
            except (SubmissionError, SubmissionRefused) as error:
                return Outcome(self.situation, Aspect.RAISES, error.with_traceback(None))
            except CheckFailed as error:  # a traceback would hold all that came
                return Outcome(self.situation, aspect, error.with_traceback(None))
        return Outcome(self.situation)

    @property
    def _outs(self) -> Tensors:
        """What came, by name."""
        return self.call.outs

    def _look_at_form(self) -> None:
        for name, out in self._outs.items():
            self.call.expect_form(out, self.situation.dtype, name)

    def _look_at_values(self) -> None:
        for name, out in self._outs.items():
            self._look_at_value(name, self._visible(out))
        for name, out in self.call.counts.items():
            expect_integers(out, self._expected[name], name)

    def _look_at_value(self, name: str, out: Tensor) -> None:
        expect_finite(out, name)
        self._expect_silence(name, out, name)
        if self._shows_nothing or (self._is_rough and self.situation.dtype == torch.bfloat16):
            return  # rounding decides what it is
        self._compare_value(name, out, self._visible(self._expected[name]))

    def _compare_value(self, name: str, out: Tensor, right: Tensor) -> None:
        try:
            expect_close(out, right, name, self._tolerances[0])
        except CheckFailed:
            near = largest_gap(out, right) <= TIMES * self._rounding_of(name)
            near |= self._is_rough and _mostly_right(out, right)
            if not near and not self._is_noise(out, right, lambda: self._noise_in_outputs[name]):
                raise

    def _rounding_of(self, name: str) -> float:
        """By how much our own output differs where it is computed as the situation has it."""
        return largest_gap(self._visible(self._rounded[name]), self._visible(self._expected[name]))

    @property
    def _shows_nothing(self) -> bool:
        """Whether what should have come cannot be told."""
        return False

    @property
    def _is_rough(self) -> bool:
        """Whether scores are so large that their rounding shows."""
        situation = self.situation
        kinds = CLOSE if situation.dtype == torch.bfloat16 else FAR
        contract = situation.contract
        is_steep = contract.steep or contract.kinks is not None
        steep = situation.row.get("weights") == "large" and is_steep
        return (self._is_of(kinds) or steep) and not self._is_exact

    def _is_of(self, kinds: tuple[str, ...]) -> bool:
        """Whether some input is of one of these kinds."""
        return any(kind in kinds for kind in self.situation.kinds.values())

    @property
    def _is_exact(self) -> bool:
        """Whether a right answer is right to the last digits of float64."""
        situation = self.situation
        return situation.dtype == torch.float64 and situation.contract.is_exact(situation.sizes)

    @property
    def _compares_gradients(self) -> bool:
        """Whether the values of gradients tell anything, not their being there alone."""
        wanted = self.situation.wants_gradients and not self._is_rough
        return wanted and self.situation.dtype != torch.bfloat16

    @property
    def _compares_roughly(self) -> bool:
        """Whether gradients in bfloat16 are near enough to the right ones to be told by."""
        situation = self.situation
        plain = all(kind == ORDINARY for kind in situation.kinds.values())
        return plain and situation.row.get("weights") != "large" and not is_long(situation.row)

    def _look_at_inputs(self) -> None:
        changed = self.call.changed
        expect(not changed, f"`{''.join(changed[:1])}` was changed in place by the call")

    def _look_at_what_is_left(self) -> None:
        expect(not self.call.left, "".join(self.call.left[:1]))
        if self.situation.row["gradients"] in ("under no_grad", "in inference mode"):
            carries = self.call.carries_gradients
            expect(not carries, "the output of a call under no_grad carries a gradient")

    def _look_at_gradients(self) -> None:
        situation = self.situation
        if not situation.wants_gradients:
            return
        first = next(iter(situation.learning), "")
        for name, grad in self.call.gradients.items():
            if name in situation.frozen:
                continue
            if grad is None and self._may_go_unused(name):
                continue
            there = expect_gradient(grad, name)
            if name == first and situation.row[WAY.name] == RESIDUAL:
                (added, *_) = situation.grad_outputs.values()
                there = there - added * situation.scale
            self._expect_silence(name, there, f"gradient of {name}")
            if self._compares_gradients:
                right = self._right_gradients[name] / situation.scale
                self._compare_gradient(name, there / situation.scale, right)
            else:
                expect_finite(there, f"gradient of {name}")
                if self._compares_roughly:
                    self._compare_roughly(name, there)

    def _may_go_unused(self, name: str) -> bool:
        return self.situation.contract.may_go_unused(name, self._right_gradients[name])

    def _expect_silence(self, name: str, found: Tensor, what: str) -> None:
        """Fail where something is left that the contract wants to be exactly 0."""
        if name in self._silent:
            left = found.detach().cpu().masked_fill(~self._silent[name].cpu(), 0)
            worst = float(left.abs().max())
            expect(worst == 0, f"{what}: expected exactly 0 at some places, got {worst:.4g}")

    def _compare_gradient(self, name: str, grad: Tensor, right: Tensor) -> None:
        try:
            expect_close(grad, right, f"gradient of {name}", self._tolerances[1])
        except CheckFailed:
            expect_finite(grad, f"gradient of {name}")
            rounded = self._rounded_gradients[name] / self.situation.scale
            gap = largest_gap(grad, right)
            near = (
                gap <= TIMES * largest_gap(rounded, right)
                or gap <= self._noise_of(right)
                or (self._near_a_kink and _mostly_right(grad, right))
                or self._is_noise(grad, right, lambda: self._noise_in_gradients[name])
            )
            if not near:
                raise

    def _is_noise(self, got: Tensor, right: Tensor, most: Callable[[], Gap]) -> bool:
        """Whether noise in every operation takes what is right about as far as this, or further."""
        if not self._can_be_shaken:
            return False
        gap = Gap.between(got, right)
        if gap.largest > BORDERLINE * max(1.0, float(right.abs().max())):
            return False
        return all(off <= noise for off, noise in zip(gap, most(), strict=True))

    @property
    def _can_be_shaken(self) -> bool:
        """Whether what is right is computed anew, with noise, as it was without."""
        return self.situation.visible is None

    @cached_property
    def _noise_in_outputs(self) -> dict[str, Gap]:
        return self._shaken(self.call.compute_rights, self._expected, OUTPUT_NOISE)

    @cached_property
    def _noise_in_gradients(self) -> dict[str, Gap]:
        times = GRADIENT_NOISE / self.situation.scale
        return self._shaken(self.call.compute_right_gradients, self._right_gradients, times)

    def _shaken(
        self, compute: Callable[..., Tensors], right: Tensors, times: float
    ) -> dict[str, Gap]:
        """So many times how far noise takes what is right, by name."""
        dtype, is_exact = self.situation.dtype, self._is_exact
        most = spread(lambda noise: compute(noise=noise), right, dtype, RUNS, is_exact)
        return {name: Gap(*(times * off for off in one)) for name, one in most.items()}

    def _compare_roughly(self, name: str, grad: Tensor) -> None:
        right = self._right_gradients
        largest = max(float(one.norm()) for one in right.values())
        gap, own = (grad.detach().double().cpu() - right[name]).norm(), right[name].norm()
        if own < KINKED * largest or (own < SHORT * largest and gap < LITTLE * largest):
            return  # what is left of terms that cancel is rounding
        if _mostly_right(grad, right[name], self.situation.contract.rounded):
            return
        # Of one feature, say, a norm leaves nothing but what terms that cancel were rounded by.
        near = _mostly_right(grad, right[name], ROUGHLY * self._own_rounding(name))
        long = [one for one, there in right.items() if there.norm() >= SHORT * largest]
        near = near or any(self._own_rounding(one) > ASTRAY for one in long)
        expect(near, f"gradient of {name}: far off, in bfloat16 as well")

    def _own_rounding(self, name: str) -> float:
        """How far our own gradient is off where it is computed as tried, relative to its length."""
        right = self._right_gradients[name]
        return float((self._rounded_gradients[name].double() - right).norm() / right.norm())

    @property
    def _near_a_kink(self) -> bool:
        return self._harness.near_a_kink(self.call.module, self.situation.learning)

    def _noise_of(self, right: Tensor) -> float:
        """The same for one gradient; where all of it does, its terms are as large as the others."""
        if bool((right.abs() > NOTHING).any()):
            return self._noise
        largest = max(float(one.abs().max()) for one in self._right_gradients.values())
        return max(self._noise, self._tolerances[1] * largest / self.situation.scale)

    @cached_property
    def _noise(self) -> float:
        """What may be left of gradients that cancel each other out."""
        situation = self.situation
        if not self._is_of(CANCELLED):
            return 0.0
        larger = LARGER if situation.row.get("weights") == "large" else 1
        largest = max(float(x.detach().abs().max()) for x in situation.learning.values()) * larger
        terms = max(1.0, largest) ** 3 * situation.sizes.length**0.5
        return float(NOISE * torch.finfo(situation.dtype).eps * terms)

    @cached_property
    def _tolerances(self) -> tuple[float, float]:
        """Of outputs, of gradients."""
        more = self.situation.contract.slack_at(self.situation.tensors)
        of_out, of_grad = self._rates
        return of_out + more, of_grad + more

    @property
    def _rates(self) -> tuple[float, float]:
        """The same where the contract has no slack."""
        if self._is_exact:
            return EXACT_FAR if self._is_of(FAR) else EXACT
        return (ROUGH, ROUGH) if self._is_rough else TOLERANCES[self.situation.dtype]

    @cached_property
    def _silent(self) -> Mapping[str, Tensor]:
        silent = self.situation.contract.silent
        return silent(**self.situation.tensors) if silent else {}

    @cached_property
    def _expected(self) -> Tensors:
        return self._once("outputs", self.call.compute_rights)

    @cached_property
    def _right_gradients(self) -> Tensors:
        return self._once("gradients", self.call.compute_right_gradients)

    @cached_property
    def _rounded(self) -> Tensors:
        return self._as_tried(self.call.compute_rights, self.situation.dtype)

    @cached_property
    def _rounded_gradients(self) -> Tensors:
        return self._as_tried(self.call.compute_right_gradients, self.situation.dtype)

    def _as_tried(self, compute: Callable[[torch.dtype], _T], dtype: torch.dtype) -> _T:
        """What is right in a dtype, by the same chance."""
        return compute(dtype)

    def _once(self, what: str, compute: Callable[[], _T]) -> _T:
        """What is right: computed for the first who is tried in this situation."""
        right = self.situation.right
        if what not in right:
            right[what] = compute()
        found: _T = right[what]
        return found

    def _visible(self, out: Tensor) -> Tensor:
        rows = self.situation.visible
        return out if rows is None else out[rows]


def largest_gap(got: Tensor, right: Tensor) -> float:
    """The largest difference."""
    return float((got.detach().double().cpu() - right).abs().max())


def _mostly_right(got: Tensor, right: Tensor, share: float = KINKED) -> bool:
    gap = (got.detach().double().cpu() - right).norm()
    return bool(gap <= share * right.norm())
