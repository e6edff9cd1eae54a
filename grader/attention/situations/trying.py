"""One situation, tried: what is planned for it, what came, what should have come."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from grader.attention.maps import recover_attention
from grader.attention.oracle import dropped
from grader.attention.situations.factors import OVERFLOWING, WAY
from grader.attention.situations.filling import LARGER, Situation
from grader.attention.situations.planning import WAYS, plan
from grader.sandbox.errors import SubmissionError, SubmissionRefused
from grader.suite.compare import (
    CheckFailed,
    expect,
    expect_close,
    expect_finite,
    expect_form,
    expect_gradient,
    expect_tensor,
)
from grader.suite.harness import Harness
from grader.suite.oracle import exact, right_weights
from grader.suite.situations.outcomes import Aspect, Outcome

# Relative to the largest expected value: of outputs, of gradients.
TOLERANCES = {
    torch.float32: (2e-5, 1e-4),
    torch.float64: (1e-6, 1e-6),  # 1/√D may have been rounded to float32
    torch.bfloat16: (0.1, 0.0),  # of its gradients only that they are there and finite
}
EXACT = (1e-10, 1e-9)  # in float64, where 1/√D is exact in every dtype
DROPPED = (2e-3, 1e-2)  # what was kept is recovered from the output
# Scores whose rounding shows, in outputs and, where all gradients cancel out, in what is left.
FAR = ("very large", "with a token far above the rest")
CLOSE = (*FAR, "of tokens near one another, far from 0")  # too close for bfloat16
CANCELLED = (*CLOSE, "of equal tokens")
ROUGH = 2e-2
NOISE = 1000  # roundings, of terms as large as x³, in the gradient of a query or key
# Another order of operations rounds otherwise than ours: by so many times as much at most.
TIMES = 30
ROUNDED = 0.3  # of a gradient's length, in bfloat16
KINKED = 0.05  # of a gradient's length, where rounding decides on which side of a jump some are

_T = TypeVar("_T")


class Tried:
    """A situation whose requests are planned.

    Args:
        harness: Whose plan they go to.
        situation: What is tried.
    """

    def __init__(self, harness: Harness, situation: Situation) -> None:
        self.situation = situation
        self._harness = harness.of(situation.contract)
        self.call = plan(self._harness, situation)

    def prepare(self) -> None:
        """Compute what is right, while the worker is busy."""
        if self.situation.drops:
            _ = self._still  # what was kept is not known yet
        elif self.situation.method:
            _ = self._steps
        else:
            _ = self._expected
        if self._compares_gradients and not self.situation.drops:
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
                return Outcome(self.situation, Aspect.RAISES, error)
            except CheckFailed as error:
                return Outcome(self.situation, aspect, error)
        return Outcome(self.situation)

    def _look_at_form(self) -> None:
        for name, out in self._outs.items():
            expect_form(out, self.situation.dtype, self.situation.x.device, name)

    @cached_property
    def _outs(self) -> dict[str, Tensor]:
        """What came, by name."""
        if not self.situation.method:
            return self.call.parts
        result = self.call.result
        if not isinstance(result, dict):
            raise CheckFailed(f"{self.situation.method}: expected a dict of Tensors")
        for name, right in self._steps.items():
            expect_tensor(result.get(name), tuple(right.shape), name, "those of the contract")
        return {name: result[name] for name in self._steps}

    @cached_property
    def _steps(self) -> dict[str, Tensor]:
        """What another method than ``forward`` should give."""
        situation = self.situation
        right = situation.contract.methods[situation.method]

        def compute() -> dict[str, Tensor]:
            x = exact(situation.x)
            steps: dict[str, Tensor] = right(right_weights(situation.weights), situation.sizes, x)
            return steps

        return self._once("steps", compute)

    def _look_at_values(self) -> None:
        if self.situation.method:
            for name, step in self._steps.items():
                if not self._is_rough:
                    expect_close(self._outs[name], step, name, self._tolerances[0])
            return
        out = self._visible(self.call.out)
        expect_finite(out)
        if self._shows_nothing:
            return
        right = self._visible(self._expected)
        if self._is_rough and self.situation.dtype == torch.bfloat16:
            return  # rounding decides who is attended to
        try:
            expect_close(out, right, tolerance=self._tolerances[0])
        except CheckFailed:
            rounded = self._visible(self._with_what_was_kept(self._right))
            if not _as_near(out, right, rounded) and not (
                self._is_rough and _mostly_right(out, right)
            ):
                raise

    @property
    def _shows_nothing(self) -> bool:
        """Whether what was kept cannot be told from the output."""
        return self.situation.drops and self.situation.row["x"] == OVERFLOWING

    @property
    def _is_rough(self) -> bool:
        """Whether scores are so large that their rounding shows."""
        situation = self.situation
        kinds = CLOSE if situation.dtype == torch.bfloat16 else FAR
        steep = situation.row.get("weights") == "large" and situation.contract.kinks is not None
        return (situation.row["x"] in kinds or steep) and not self._is_exact

    @property
    def _is_exact(self) -> bool:
        """Whether a right answer is right to the last digits of float64."""
        situation = self.situation
        square = situation.row["width"] == "square" and not situation.drops  # which widens it
        return situation.dtype == torch.float64 and square

    @property
    def _compares_gradients(self) -> bool:
        """Whether the values of gradients tell anything, not their being there alone."""
        wanted = self.situation.wants_gradients and not self._is_rough
        return wanted and self.situation.dtype != torch.bfloat16

    @property
    def _compares_roughly(self) -> bool:
        """Whether gradients in bfloat16 are near enough to the right ones to be told by."""
        situation = self.situation
        plain = situation.row["x"] == "ordinary" and situation.row.get("weights") != "large"
        return plain and not situation.drops

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
        for name, grad in self.call.gradients.items():
            if name in situation.frozen:
                continue
            there = expect_gradient(grad, name)
            if name == "x" and WAYS.get(situation.row[WAY.name]) == "residual":
                there = there - situation.grad_output * situation.scale
            if self._compares_gradients:
                right = self._right_gradients[name] / situation.scale
                self._compare_gradient(name, there / situation.scale, right)
            else:
                expect_finite(there, f"gradient of {name}")
                if self._compares_roughly:
                    self._compare_roughly(name, there)

    def _compare_gradient(self, name: str, grad: Tensor, right: Tensor) -> None:
        try:
            expect_close(grad, right, f"gradient of {name}", self._tolerances[1])
        except CheckFailed:
            expect_finite(grad, f"gradient of {name}")
            near = (
                _as_near(grad, right, self._rounded_gradients[name] / self.situation.scale)
                or bool((grad.double().cpu() - right).abs().max() <= self._noise)
                or (self._near_a_kink and _mostly_right(grad, right))
            )
            if not near:
                raise

    def _compare_roughly(self, name: str, grad: Tensor) -> None:
        right = self._right_gradients
        largest = max(float(one.norm()) for one in right.values())
        if right[name].norm() < KINKED * largest:
            return  # what is left of terms that cancel is rounding
        near = _mostly_right(grad, right[name], ROUNDED)
        expect(near, f"gradient of {name}: far off, in bfloat16 as well")

    @property
    def _near_a_kink(self) -> bool:
        return self._harness.near_a_kink(self.call.module, {"x": self.situation.x})

    @cached_property
    def _noise(self) -> float:
        """What may be left of gradients that cancel each other out."""
        if self.situation.row["x"] not in CANCELLED:
            return 0.0
        larger = LARGER if self.situation.row.get("weights") == "large" else 1
        largest = float(self.situation.x.detach().abs().max()) * larger
        return NOISE * torch.finfo(self.situation.dtype).eps * max(1.0, largest) ** 3

    @cached_property
    def _tolerances(self) -> tuple[float, float]:
        situation = self.situation
        if situation.drops and situation.dtype == torch.float32:
            return DROPPED
        if self._is_rough:
            return ROUGH, ROUGH
        if self._is_exact:
            return EXACT
        return TOLERANCES[situation.dtype]

    @cached_property
    def _expected(self) -> Tensor:
        if not self.situation.drops:
            return self._still
        return self._with_what_was_kept(self._right, torch.float64)

    @property
    def _still(self) -> Tensor:
        """The right output where nothing is dropped."""
        return self._once("output", lambda: self._right(torch.float64))

    @cached_property
    def _right_gradients(self) -> dict[str, Tensor]:
        if not self.situation.drops:
            return self._once("gradients", self.call.compute_right_gradients)
        return self._with_what_was_kept(self.call.compute_right_gradients, torch.float64)

    @cached_property
    def _rounded_gradients(self) -> dict[str, Tensor]:
        return self._with_what_was_kept(self.call.compute_right_gradients)

    def _right(self, dtype: torch.dtype) -> Tensor:
        return self.call.compute_rights(dtype)["output"]

    def _once(self, what: str, compute: Callable[[], _T]) -> _T:
        """What is right: computed for the first who is tried in this situation."""
        right = self.situation.right
        if what not in right:
            right[what] = compute()
        found: _T = right[what]
        return found

    def _with_what_was_kept(
        self, compute: Callable[[torch.dtype], _T], dtype: torch.dtype | None = None
    ) -> _T:
        """What is right where the submission dropped what it dropped; by default, rounded as x."""
        dtype = dtype or self.situation.dtype
        with dropped(self._kept.to(dtype)) if self.situation.drops else nullcontext():
            return compute(dtype)

    @cached_property
    def _kept(self) -> Tensor:
        """What each weight was multiplied by: 0, or 1/(1 - rate), whichever is nearer."""
        rate = self.situation.rate
        rate = self.situation.contract.default_rate if rate is None else rate
        mine, right = recover_attention(self.call, self.call.out, self._still)
        whole = right / (1 - rate)
        kept = (mine - whole).abs() < mine.abs()
        return torch.where(kept, 1 / (1 - rate), 0.0).squeeze(-2)  # one head

    def _visible(self, out: Tensor) -> Tensor:
        rows = self.situation.visible
        return out if rows is None else out[rows.to(out.device)]


def _as_near(got: Tensor, right: Tensor, rounded: Tensor) -> bool:
    """Whether rounding alone may make the difference: it does nearly as much to our own."""
    gap = (rounded.double() - right).abs().max()
    return bool((got.detach().double().cpu() - right).abs().max() <= TIMES * gap)


def _mostly_right(got: Tensor, right: Tensor, share: float = KINKED) -> bool:
    gap = (got.detach().double().cpu() - right).norm()
    return bool(gap <= share * right.norm())
