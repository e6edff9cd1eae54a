"""Run the steps as a module would: on its own parameters, in its own dtype, with real dropout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.attention.layout import WeightLayout
from grader.attention.steps.state import BLOCK_STEPS, CHOICES, STEPS, State


class LiveState(State):
    """A state that keeps the dtype and the device of the module's tensors."""

    def drop(self, where: str, value: Tensor) -> Tensor:
        """Return the value after dropout by torch's current random numbers, if it acts here."""
        if not self.drops(where):
            return value
        ones = torch.ones(self._noise_shape(value), dtype=value.dtype, device=value.device)
        return value * self.noise(ones)


def step_runner(layout: WeightLayout, choices: Mapping[str, str]) -> Callable[..., State]:
    """Return a function that runs all steps: by these choices, and the right way without a choice.

    The function takes the weights by name, x (B, T, C) or (T, C), a mask or None, the constructor's
    arguments by name, and whether the module is in training. It returns the state after all steps.
    """
    names = [
        step
        for step in STEPS
        if (layout.block or step not in BLOCK_STEPS)
        and (step in choices or "right" in CHOICES[step])  # else the step does nothing
    ]

    def go(
        weights: Mapping[str, Tensor],
        x: Tensor,
        mask: Tensor | None,
        arguments: Mapping[str, Any],
        training: bool,
    ) -> State:
        given = x if x.dim() == 3 else x.unsqueeze(0)
        heads, rate = arguments.get("num_heads", 1), arguments.get("dropout_rate", 0.0)
        recording = torch.is_grad_enabled()
        s = LiveState(layout, weights, given, mask, heads, training, rate, 0, recording, x=given)
        for step in names:
            CHOICES[step][choices.get(step, "right")](s)
        if s.out.dim() == 3 and s.out.shape[:2] != given.shape[:2]:
            s.out = s.out.reshape(*given.shape[:2], -1)
        if x.dim() == 2:
            s.out = s.out.squeeze(0)
        return s

    return go
