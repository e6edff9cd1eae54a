"""Give a solution the biases that a submission has, too many or too few: a check tells of them.

All other checks make up for them, so that what else is wrong is looked for as if they were right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType
from typing import Any

from torch import nn

from grader.diagnosis.replay import Change, Replay, ReplayUnit
from grader.sandbox.replies import StepAnswer
from grader.wire import messages, responses

BIAS = ".bias"
MAX_MADE = 5  # modules of each class that are looked at


def with_its_biases(right: Replay, units: Sequence[ReplayUnit]) -> Change | None:
    """Return what gives a solution's layers the submission's biases; None where they have them."""
    pairs: dict[str, list[tuple[set[str], set[str]]]] = {}
    for asked in (step for unit in units for group in unit.groups for step in group):
        match asked.step.operation, asked.answer:
            case messages.Create(name=name), StepAnswer(answer=responses.Created() as theirs):
                found = pairs.setdefault(name, [])
                if len(found) < MAX_MADE:
                    ((_, _, mine),) = right.answers(ReplayUnit([[asked]], False))
                    if isinstance(mine, StepAnswer):
                        found.append((_biased(theirs), _biased(mine.answer)))
    differ = {}
    for name, found in pairs.items():
        more = set.intersection(*(theirs - ours for theirs, ours in found)) if found else set()
        fewer = {layer for theirs, ours in found for layer in ours - theirs}
        if more or fewer:
            differ[name] = more, fewer

    def change(module: ModuleType) -> None:
        for name, layers in differ.items():
            setattr(module, name, _with_biases(getattr(module, name), *layers))

    return change if differ else None


def _biased(answer: responses.Answer) -> set[str]:
    """Return the names of the layers that have a bias."""
    assert isinstance(answer, responses.Created)
    names = [one.name for one in answer.parameters]
    return {name.removesuffix(BIAS) for name in names if name.endswith(BIAS)}


def _with_biases(made: Any, more: Collection[str], fewer: Collection[str]) -> type:
    def init(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        made.__init__(self, *args, **kwargs)
        for name in more:
            layer: Any = self.get_submodule(name)
            layer.bias = nn.Parameter(layer.weight[..., 0].detach().clone().zero_())
        for name in fewer:
            self.get_submodule(name).bias = None  # type: ignore[assignment]

    return type(made.__name__, (made,), {"__init__": init})
