"""Plant mistakes in a solution: the pipeline computes its attention, with some steps done wrong.

All else in the solution is left as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from torch import Tensor, nn

from grader.attention.contract import AttentionContract
from grader.attention.layout import WeightLayout
from grader.attention.steps import State
from grader.attention.steps.live import step_runner
from grader.diagnosis.replay import module_of

# Attributes of the state, by the names under which a method that shows the steps returns them.
STATE_ATTRIBUTES = {
    "similarities": "unscaled",
    "scaled": "scores",
    "weights": "attention",
    "output": "out",
}


def plant(source: str, contract: AttentionContract, choices: Mapping[str, str]) -> ModuleType:
    """Return a solution's module whose attention does the steps by these choices."""
    module = module_of(source)
    plant_in(module, contract, choices)
    return module


def plant_in(module: ModuleType, contract: AttentionContract, choices: Mapping[str, str]) -> None:
    """Make the attention of a solution's module do the steps by these choices.

    Args:
        module: Module of the solution; its constructors stay as they are.
        contract: Contract of the exercise.
        choices: Name of the way in which a step is done, by step; a step left out is done right.
    """
    for one in (contract, contract.inner):
        if one is not None and one.layout is not None:
            _plant(module, one, one.layout, choices)


def _plant(
    module: ModuleType,
    contract: AttentionContract,
    layout: WeightLayout,
    choices: Mapping[str, str],
) -> None:
    found = getattr(module, contract.entry)
    if not isinstance(found, type):
        alone = step_runner(layout, choices)
        setattr(module, contract.entry, lambda x: alone({}, x, None, {}, False).out)
        return
    made: Callable[..., None] = found.__init__  # type: ignore[misc]  # of a class of ours
    signature = inspect.signature(made)
    go = step_runner(layout, choices)

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
        names = [*"qkv", *STATE_ATTRIBUTES]
        values = {name: getattr(s, STATE_ATTRIBUTES.get(name, name)) for name in names}
        return {name: v.reshape(*x.shape[:-1], v.size(-1)) for name, v in values.items()}

    planted = {"__init__": init, "forward": forward, **dict.fromkeys(contract.methods, steps)}
    setattr(module, contract.entry, type(contract.entry, (found,), planted))
    assert issubclass(getattr(module, contract.entry), nn.Module)
