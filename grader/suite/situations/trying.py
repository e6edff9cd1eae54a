"""Try one situation: plan its requests, and compare what the submission gives with the oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.suite.compare import (
    CheckFailed,
    expect,
    expect_finite,
    expect_gradient,
    expect_integers,
    may_be_none,
)
from grader.suite.harness import Harness
from grader.suite.situations import gradients
from grader.suite.situations.gradients import IN_INFERENCE_MODE, UNDER_NO_GRAD
from grader.suite.situations.outcomes import Aspect, SituationOutcome
from grader.suite.situations.planning import plan
from grader.suite.situations.rounding import GRADIENTS, OUTPUTS, Rounding
from grader.suite.situations.situation import Situation
from grader.suite.situations.tokens import OVERFLOWING
from grader.suite.tolerance import Noise

Tensors = dict[str, Tensor]
_T = TypeVar("_T")


class SituationRun:
    """A run of a submission in a situation: planned requests, then their results and an outcome.

    Args:
        harness: The harness whose batch the requests are planned in.
        situation: The situation to try.
    """

    def __init__(self, harness: Harness, situation: Situation) -> None:
        self._harness = harness.of(situation.contract)
        lacks = self._harness.deviations.lacks
        missing = [name for name in situation.weights if lacks(name)]
        self.situation = situation.without(missing) if missing else situation
        self.call = plan(self._harness, self.situation)
        self._lacks_zeros = False  # a gradient that is 0, in the submission's answer

    def prepare(self) -> None:
        """Compute the right answers, while the worker is busy."""
        _ = self._expected
        if self._compares_gradients:
            _ = self._right_gradients

    def outcome(self) -> SituationOutcome:
        """Return the outcome, with the first aspect in which the submission is wrong, if any."""
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
                return SituationOutcome(self.situation, Aspect.RAISES, error.with_traceback(None))
            except CheckFailed as error:  # its traceback would keep all results in memory
                return SituationOutcome(self.situation, aspect, error.with_traceback(None))
        shows = any(bool(right.any()) for right in self._expected.values())
        return SituationOutcome(self.situation, is_spared=self._lacks_zeros or not shows)

    @property
    def _outs(self) -> Tensors:
        """The submission's outputs, by name."""
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
        if not self._shows_nothing:
            self._outputs.expect_near(out, name, name)

    @property
    def _shows_nothing(self) -> bool:
        """Whether the right outputs cannot be determined, so that values are not compared."""
        return False

    @property
    def _is_exact(self) -> bool:
        """Whether a right answer must be right to the last digits of float64."""
        situation = self.situation
        return situation.dtype == torch.float64 and situation.contract.is_exact(situation.sizes)

    @property
    def _compares_gradients(self) -> bool:
        """Whether gradients are compared by value, not only expected to exist and be finite."""
        return self.situation.wants_gradients

    @property
    def _overflows(self) -> bool:
        """Whether scores are so large that rounding decides which of them is the largest."""
        return OVERFLOWING in self.situation.kinds.values()

    def _look_at_inputs(self) -> None:
        changed = self.call.changed
        expect(not changed, f"`{''.join(changed[:1])}` was changed in place by the call")
        changed = self.call.changed_by_backward
        expect(not changed, f"`{''.join(changed[:1])}` was changed in place by the backward")

    def _look_at_what_is_left(self) -> None:
        expect(not self.call.side_effects, "".join(self.call.side_effects[:1]))
        if self.situation.row["gradients"] in (UNDER_NO_GRAD, IN_INFERENCE_MODE):
            carries = self.call.carries_gradients
            expect(not carries, "the output of a call under no_grad carries a gradient")

    def _look_at_gradients(self) -> None:
        situation = self.situation
        if not situation.wants_gradients:
            return
        if not self.call.carries_gradients and self._learns_nothing:
            self._lacks_zeros = True
            return
        first = next(iter(situation.learning), "")
        for name, grad in self.call.gradients.items():
            if name in situation.frozen:
                continue
            if grad is None and may_be_none(self._right_gradients[name]):
                self._lacks_zeros = True
                continue
            there = expect_gradient(grad, name)
            if name == first and gradients.is_beside_a_residual(situation.row):
                (added, *_) = situation.grad_outputs.values()
                there = there - added * situation.scale
            what = f"gradient of {name}"
            self._expect_silence(name, there, what)
            if self._compares_gradients:
                self._gradients.expect_near(there / situation.scale, name, what)
            else:
                expect_finite(there, what)

    @property
    def _learns_nothing(self) -> bool:
        """Whether all gradients asked for are 0, as those of queries and keys are for one token."""
        tensors = self.call.tensors
        without = {*self.situation.frozen, *(n for n, x in tensors.items() if not x.requires_grad)}
        rights = self._right_gradients.items()
        return all(may_be_none(right) for name, right in rights if name not in without)

    def _expect_silence(self, name: str, found: Tensor, what: str) -> None:
        """Raise ``CheckFailed`` if a number is not 0 that the contract wants to be exactly 0."""
        if name in self._must_be_zero:
            left = found.detach().cpu().masked_fill(~self._must_be_zero[name].cpu(), 0)
            worst = float(left.abs().max())
            expect(worst == 0, f"{what}: expected exactly 0 at some places, got {worst:.4g}")

    # Neither is kept: each holds this run, and both would wait for the garbage collector.

    @property
    def _outputs(self) -> Rounding:
        return self._rounding(OUTPUTS, self._expected, self._rounded)

    @property
    def _gradients(self) -> Rounding:
        return self._rounding(GRADIENTS, self._right_gradients, self._compute_gradients)

    def _rounding(
        self, quantity: int, right: Tensors, compute: Callable[[torch.dtype, Noise | None], Tensors]
    ) -> Rounding:
        situation = self.situation
        return Rounding(
            self._all_visible(right),
            lambda dtype, noise: self._all_visible(compute(dtype, noise)),
            quantity,
            situation.dtype,
            self._extra_tolerance(quantity),
            self._is_exact,
            self._overflows,
            partial(self.call.module.is_near_a_kink, situation.learning),
            self._runs,
        )

    def _extra_tolerance(self, quantity: int) -> float:
        """Return the error allowed beyond rounding, relative to the largest value."""
        return self.situation.contract.extra_tolerance_at(self.situation.tensors)

    @property
    def _runs(self) -> dict[Any, Any]:
        """Cache of right answers with simulated rounding, for all submissions of the situation."""
        return self.situation.right_answers

    @cached_property
    def _must_be_zero(self) -> Mapping[str, Tensor]:
        must_be_zero = self.situation.contract.must_be_zero
        return must_be_zero(**self.situation.tensors) if must_be_zero else {}

    @cached_property
    def _expected(self) -> Tensors:
        return self._once("outputs", self._compute_outputs)

    @cached_property
    def _right_gradients(self) -> Tensors:
        return self._once("gradients", self._compute_gradients)

    def _compute_outputs(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> Tensors:
        return self.call.compute_right_outputs(dtype, noise)

    def _compute_gradients(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> Tensors:
        found = self.call.compute_right_gradients(dtype, noise)
        return {name: grad / self.situation.scale for name, grad in found.items()}

    def _rounded(self, dtype: torch.dtype, noise: Noise | None) -> Tensors:
        """Compute the right outputs with the rounding of a dtype, or of noise that imitates one."""
        return self._compute_outputs(dtype, noise)

    def _once(self, what: str, compute: Callable[[], _T]) -> _T:
        """Return a right answer, computed once for all submissions tried in the situation."""
        right = self.situation.right_answers
        if what not in right:
            right[what] = compute()
        found: _T = right[what]
        return found

    def _visible(self, out: Tensor) -> Tensor:
        rows = self.situation.visible
        return out if rows is None else out[rows]

    def _all_visible(self, outs: Tensors) -> Tensors:
        return {name: self._visible(out) for name, out in outs.items()}
