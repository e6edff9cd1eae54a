"""One situation of attention, tried: what was dropped, and what other methods give."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from grader.attention.oracle import dropped
from grader.attention.situations.filling import AttentionSituation
from grader.attention.situations.keeping import kept_in
from grader.suite.compare import CheckFailed, expect_finite, expect_tensor
from grader.suite.oracle import exact, right_weights
from grader.suite.situations.levels import OVERFLOWING
from grader.suite.situations.trying import Tensors, Tried, largest_gap

DROPPED = (2e-3, 1e-2)  # what was kept is recovered from the output

_T = TypeVar("_T")


class AttentionTried(Tried):
    """A situation whose requests are planned; as ``Tried`` has it."""

    situation: AttentionSituation

    def prepare(self) -> None:
        """Compute what is right, while the worker is busy."""
        if self.situation.drops:
            _ = self._still  # what was kept is not known yet
        elif self.situation.method:
            _ = self._steps
        else:
            super().prepare()

    @cached_property
    def _outs(self) -> Tensors:
        """What came, by name."""
        if not self.situation.method:
            return self.call.outs
        result = self.call.result
        if not isinstance(result, dict):
            raise CheckFailed(f"{self.situation.method}: expected a dict of Tensors")
        for name, right in self._steps.items():
            expect_tensor(result.get(name), tuple(right.shape), name, "those of the contract")
        return {name: result[name] for name in self._steps}

    @property
    def _steps(self) -> Tensors:
        """What another method than ``forward`` should give."""
        return self._once("steps", self._compute_steps)

    def _compute_steps(self, dtype: torch.dtype = torch.float64) -> Tensors:
        situation = self.situation
        right = situation.contract.methods[situation.method]
        weights = right_weights(situation.weights, dtype)
        steps: Tensors = right(weights, situation.sizes, exact(situation.x).to(dtype))
        return steps

    def _look_at_values(self) -> None:
        if not self.situation.method:
            return super()._look_at_values()
        for name, step in self._steps.items():
            expect_finite(self._outs[name], name)
            if not self._is_rough:
                self._compare_value(name, self._outs[name], step)
        return None

    @property
    def _shows_nothing(self) -> bool:
        """Whether what was kept cannot be told from the output."""
        overflows = self.situation.row["x"] == OVERFLOWING
        return self.situation.drops and (overflows or not self.situation.tells)

    @property
    def _is_exact(self) -> bool:
        """Whether a right answer is right to the last digits of float64."""
        situation = self.situation
        # There 1/√D is exact in every dtype; dropping widens it.
        square = situation.row["width"] == "square" and not situation.drops
        is_exact = square or situation.drops_exactly
        return super()._is_exact or (situation.dtype == torch.float64 and is_exact)

    @property
    def _can_be_shaken(self) -> bool:
        return super()._can_be_shaken and not self.situation.drops and not self.situation.method

    @property
    def _compares_roughly(self) -> bool:
        return super()._compares_roughly and not self.situation.drops

    @property
    def _compares_gradients(self) -> bool:
        return super()._compares_gradients and not self._shows_nothing

    @property
    def _rates(self) -> tuple[float, float]:
        if self.situation.drops and self.situation.dtype == torch.float32:
            return DROPPED
        return super()._rates

    @cached_property
    def _expected(self) -> Tensors:
        if not self.situation.drops:
            return self._still
        return self._as_tried(self.call.compute_rights, torch.float64)

    @property
    def _still(self) -> Tensors:
        """The right outputs where nothing is dropped."""
        return self._once("outputs", self.call.compute_rights)

    @cached_property
    def _right_gradients(self) -> Tensors:
        if not self.situation.drops:
            return self._once("gradients", self.call.compute_right_gradients)
        return self._as_tried(self.call.compute_right_gradients, torch.float64)

    def _as_tried(self, compute: Callable[[torch.dtype], _T], dtype: torch.dtype) -> _T:
        """What is right where the submission dropped what it dropped."""
        with dropped(self._kept.to(dtype)) if self.situation.drops else nullcontext():
            return compute(dtype)

    def _rounding_of(self, name: str) -> float:
        """The same where our own output, too, has to tell what was kept."""
        if self.situation.method:
            steps = self._compute_steps(self.situation.dtype)
            return largest_gap(steps[name], self._steps[name])
        if not self.situation.drops:
            return super()._rounding_of(name)
        rounded = self._rounded[name]
        with dropped(self._kept_in(rounded)):
            read = self.call.compute_rights(torch.float64)[name]
        return largest_gap(self._visible(rounded), self._visible(read))

    @cached_property
    def _kept(self) -> Tensor:
        """What the submission multiplied each weight by."""
        return self._kept_in(self.call.out)

    def _kept_in(self, out: Tensor) -> Tensor:
        """What each weight was multiplied by: 0, or 1/(1 - rate), whichever is nearer."""
        (still,) = self._still.values()
        return kept_in(self.call, self.situation.kept_rate, still, out)
