"""A solution with mistakes planted: its steps done by the pipeline, all else left as it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.attention.contract import AttentionContract
from grader.attention.layout import WeightLayout
from grader.attention.steps import CHOICES, STEPS, State
from grader.attention.steps.state import BLOCK_STEPS
from grader.diagnosis.replay import module_of

# Of the state, by the names that a method which shows the steps gives them.
SHOWN = {"similarities": "unscaled", "scaled": "scores", "weights": "attention", "output": "out"}


def plant(source: str, contract: AttentionContract, choices: Mapping[str, str]) -> ModuleType:
    """The module of a solution whose attention goes by these choices, one a step."""
    module = module_of(source)
    for one in (contract, contract.inner):
        if one is not None and one.layout is not None:
            _plant(module, one, one.layout, choices)
    return module


def _plant(
    module: ModuleType,
    contract: AttentionContract,
    layout: WeightLayout,
    choices: Mapping[str, str],
) -> None:
    found = getattr(module, contract.entry)
    if not isinstance(found, type):
        alone = _Live.through(layout, choices)
        setattr(module, contract.entry, lambda x: alone({}, x, None, {}, False).out)
        return
    made: Callable[..., None] = found.__init__  # type: ignore[misc]  # of a class of ours
    signature = inspect.signature(made)
    go = _Live.through(layout, choices)

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        self.given_arguments = given.arguments

    def state(self: Any, x: Tensor, attention_mask: Tensor | None = None) -> State:
        weights = dict(self.named_parameters())
        return go(weights, x, attention_mask, self.given_arguments, self.training)

    def forward(self: Any, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return state(self, x, attention_mask).out

    def steps(self: Any, x: Tensor) -> dict[str, Tensor]:
        s = state(self, x)
        names = [*"qkv", *SHOWN]
        values = {name: getattr(s, SHOWN.get(name, name)) for name in names}
        return {name: v.reshape(*x.shape[:-1], v.size(-1)) for name, v in values.items()}

    planted = {"__init__": init, "forward": forward, **dict.fromkeys(contract.methods, steps)}
    setattr(module, contract.entry, type(contract.entry, (found,), planted))
    assert issubclass(getattr(module, contract.entry), nn.Module)


class _Live(State):
    """A state in whatever dtype and on whatever device the submission would be in."""

    def drop(self, where: str, value: Tensor) -> Tensor:
        if not self.drops(where):
            return value
        rate = self.rate if self.drop_rate is None else self.drop_rate
        ones = torch.ones(self._noise_shape(value), dtype=value.dtype, device=value.device)
        noise = F.dropout(ones, rate)
        return value * (noise if self.rescale else (noise != 0).to(value.dtype))

    @classmethod
    def through(cls, layout: WeightLayout, choices: Mapping[str, str]) -> Callable[..., State]:
        """All steps from a module's parameters and its input, by these choices."""
        names = [
            step
            for step in STEPS
            if (layout.block or step not in BLOCK_STEPS)
            and (step in choices or "right" in CHOICES[step])  # else nothing is to be done in it
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
            s: State = cls(
                layout, weights, given, mask, heads, training, rate, 0, recording, x=given
            )
            for step in names:
                CHOICES[step][choices.get(step, "right")](s)
            if s.out.dim() == 3 and s.out.shape[:2] != given.shape[:2]:
                s.out = s.out.reshape(*given.shape[:2], -1)
            if x.dim() == 2:
                s.out = s.out.squeeze(0)
            return s

        return go
