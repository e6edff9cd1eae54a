"""Try one situation of attention, with dropped weights, or with a method besides ``forward``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.attention.oracle import apply_dropout
from grader.attention.situations.filling import AttentionSituation
from grader.attention.situations.keeping import kept_factors
from grader.suite.compare import CheckFailed, expect_tensor
from grader.suite.oracle import exact, right_weights
from grader.suite.situations.trying import SituationRun, Tensors
from grader.suite.tolerance import Noise

# Of outputs and of gradients, as kept weights are read off the output.
MISREAD_TOLERANCES = (2e-3, 1e-2)


class AttentionSituationRun(SituationRun):
    """A situation of attention whose requests to the worker are planned (queued, not sent yet).

    The arguments are those of ``SituationRun``.
    """

    situation: AttentionSituation

    def prepare(self) -> None:
        """Compute the right values while the worker is busy."""
        if self.situation.drops:
            _ = self._undropped_outputs  # what was kept is not known yet
        else:
            super().prepare()

    @cached_property
    def _outs(self) -> Tensors:
        """The outputs of the submission's module or method, by name."""
        if not self.situation.method:
            return self.call.outs
        result = self.call.result
        if not isinstance(result, dict):
            raise CheckFailed(f"{self.situation.method}: expected a dict of Tensors")
        for name, right in self._expected.items():
            expect_tensor(result.get(name), tuple(right.shape), name, "those of the contract")
        return {name: result[name] for name in self._expected}

    def _look_at_values(self) -> None:
        if not self.situation.method:
            return super()._look_at_values()
        for name, out in self._outs.items():
            self._look_at_value(name, out)
        return None

    @property
    def _shows_nothing(self) -> bool:
        """Whether the output cannot show which weights were kept."""
        return self.situation.drops and (self._overflows or not self.situation.shows_kept_weights)

    @property
    def _is_exact(self) -> bool:
        """Whether a right answer is right to the last digits of float64."""
        situation = self.situation
        # At a square width 1/√D is exact in every dtype, but dropping widens D.
        square = situation.row["width"] == "square" and not situation.drops
        is_exact = square or situation.drops_exactly
        return super()._is_exact or (situation.dtype == torch.float64 and is_exact)

    @property
    def _compares_gradients(self) -> bool:
        # Outputs in bfloat16 show too little of what was dropped.
        is_untold = self._shows_nothing or self.situation.dtype == torch.bfloat16
        return super()._compares_gradients and not (self.situation.drops and is_untold)

    def _extra_tolerance(self, quantity: int) -> float:
        is_misread = self.situation.drops and self.situation.dtype == torch.float32
        return super()._extra_tolerance(quantity) + (
            MISREAD_TOLERANCES[quantity] if is_misread else 0.0
        )

    @cached_property
    def _runs(self) -> dict[Any, Any]:
        """Cache of right answers with simulated rounding, shared unless weights are dropped.

        If they are, the right answers depend on which weights this submission dropped.
        """
        return {} if self.situation.drops else super()._runs

    @property
    def _undropped_outputs(self) -> Tensors:
        """The right outputs, by name, if no weight were dropped."""
        return self._once("outputs", self.call.compute_right_outputs)

    @cached_property
    def _expected(self) -> Tensors:
        return self._compute_outputs() if self.situation.drops else super()._expected

    @cached_property
    def _right_gradients(self) -> Tensors:
        return self._compute_gradients() if self.situation.drops else super()._right_gradients

    def _compute_outputs(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> Tensors:
        situation = self.situation
        if not situation.method:
            with self._dropping(dtype, noise):
                return super()._compute_outputs(dtype, noise)
        weights, x = right_weights(situation.weights, dtype), exact(situation.x).to(dtype)
        right = situation.contract.methods[situation.method]
        with noise or nullcontext():
            steps: Tensors = right(weights, situation.sizes, x)
        return steps

    def _compute_gradients(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> Tensors:
        with self._dropping(dtype, noise):
            return super()._compute_gradients(dtype, noise)

    def _rounded(self, dtype: torch.dtype, noise: Noise | None) -> Tensors:
        """Return the right outputs with simulated rounding, and what follows from that rounding.

        It may change which weights an output seems to have kept, and so what is expected.
        """
        came = super()._rounded(dtype, noise)
        if not self.situation.drops:
            return came
        ((name, out),) = came.items()
        with apply_dropout(self._kept_in(out)):
            read = self.call.compute_right_outputs()[name]
        return {name: self._expected[name] + out - read}

    def _dropping(self, dtype: torch.dtype, noise: Noise | None) -> AbstractContextManager[None]:
        """Return a context in which the oracle drops the weights that the submission dropped."""
        if not self.situation.drops:
            return nullcontext()
        kept = self._kept.to(dtype)
        if noise:
            kept = (kept != 0) * noise.constant(1 / (1 - self.situation.kept_rate))
        return apply_dropout(kept)

    @cached_property
    def _kept(self) -> Tensor:
        """The factor by which the submission multiplied each weight."""
        return self._kept_in(self.call.out)

    def _kept_in(self, out: Tensor) -> Tensor:
        """Return the factor by which dropout multiplied each weight, as read off ``out``."""
        (undropped,) = self._undropped_outputs.values()
        return kept_factors(self.call, self.situation.kept_rate, undropped, out)
