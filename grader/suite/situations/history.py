"""The factor history: what comes before the call under test, and must not affect it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.modules import Module
from grader.suite.oracle import Weights
from grader.suite.right_results import Inputs
from grader.suite.situations.dtype import in_dtype
from grader.suite.situations.factors import ABSENT, Factor, Row
from grader.suite.situations.inputs import draw_by_kind_and_form
from grader.suite.situations.outcomes import SituationLike
from grader.suite.situations.situation import Situation
from grader.suite.situations.tokens import draw_x_like, with_other_numbers, x_like_inputs
from grader.suite.sizes import Sizes

FIRST_CALL, BEFORE_ANOTHER_INPUT = "first call", "before another input"
AFTER_ANOTHER_INPUT, AFTER_A_STEP = "after another input", "after a training step"
AFTER_ANOTHER_DTYPE = "after another dtype"
FILLED_ANEW = "in the same tensor, filled anew"
AFTER_OTHER_WEIGHTS, LOADED = "after other weights", "loaded from a state"
HISTORIES_WITH_OTHER_WEIGHTS = (AFTER_OTHER_WEIGHTS, LOADED)
CLAIMS = ("remembers_nothing",)  # fail where the history describes what fails
# Which situations a claim is about.
APPLIES_TO: dict[str, Callable[[SituationLike], bool]] = {
    "remembers_nothing": lambda one: one.row.get("history") != FIRST_CALL,
}
# Histories after which a module is in training: as it was made, or by the call before.
IN_TRAINING_ALREADY = (FIRST_CALL, AFTER_A_STEP)


def factor_of(contract: Contract) -> Factor:
    """Return the factor for what came before: a function has no weights that may have changed."""
    return HISTORY_OF_FUNCTIONS if contract.parameters is None else HISTORY


def draw_other_weights(harness: Harness, row: Row, sizes: Sizes) -> Weights:
    """Draw weights for an earlier call, before the module gets those of the call under test.

    Empty unless the row, which has a level of each factor, wants such a call by its ``history``.
    """
    return (
        in_dtype(row, harness.weights(sizes))
        if row.get(HISTORY.name) in HISTORIES_WITH_OTHER_WEIGHTS
        else {}
    )


def draw_other_input(
    harness: Harness, row: Row, name: str, value: Tensor | None, sizes: Sizes
) -> Tensor | None:
    """Return an input for another call of the same shapes, made from the value of the first call.

    An input that gradients are asked of gets other numbers, and one with kinds is drawn anew; all
    others stay the same.
    """
    if value is None:
        return None
    if name in x_like_inputs(harness.contract):
        if harness.contract.inputs[name].confined:
            return draw_x_like(harness, row, name, sizes).contiguous()
        return with_other_numbers(value)
    return (
        draw_by_kind_and_form(harness, row, name, sizes)
        if harness.contract.inputs[name].kinds
        else value
    )


def draw_earlier_input(
    harness: Harness, row: Row, name: str, other: Tensor | None, sizes: Sizes
) -> Tensor | None:
    """Return an input of an earlier call: ``other``, or where that is a mask, say, another one.

    This catches a submission that keeps the mask of its first call.
    """
    is_drawn = other is not None or row.get(name) == ABSENT
    if name in x_like_inputs(harness.contract) or not is_drawn:
        return other
    return draw_by_kind_and_form(harness, {**row, name: ABSENT}, name, sizes)


def is_refilled(situation: Situation) -> bool:
    """Return whether an earlier call gets the same tensors, which are filled anew afterwards."""
    meant = situation.row.get(HISTORY.name) == FILLED_ANEW
    tensors = situation.tensors.items()
    apart = all(0 not in value.stride() for _, value in tensors)
    other_inputs = situation.other_inputs
    alike = all(
        (other := other_inputs[n]) is not None and other.dtype == x.dtype for n, x in tensors
    )
    return meant and apart and alike and not situation.wants_gradients


def go_through(module: Module, situation: Situation) -> None:
    """Plan what comes before the call under test, such as another call, and must not affect it."""
    plain: Inputs = {
        **situation.inputs,
        **{name: x.contiguous() for name, x in situation.learning.items()},
    }
    _EARLIER_STEPS[situation.row.get(HISTORY.name, AFTER_ANOTHER_INPUT)](module, situation, plain)


def _do_nothing(module: Module, situation: Situation, plain: Inputs) -> None:
    """Plan nothing: what the history adds belongs to the call under test itself."""


def _call_on_another_input(module: Module, situation: Situation, plain: Inputs) -> None:
    module.train(situation.training).call(situation.earlier_inputs, inference=situation.coin)


def _train(module: Module, situation: Situation, plain: Inputs) -> None:
    grad_output = situation.grad_outputs if situation.visible is None else None
    module.set({name: value / 2 for name, value in situation.weights.items()})
    other = {**plain, **situation.other_inputs}
    module.train().call(other, grad_output=grad_output, way="accumulated")
    module.set(situation.weights)  # as an optimizer does


def _call_in_another_dtype(module: Module, situation: Situation, plain: Inputs) -> None:
    changed = torch.float32 if situation.dtype == torch.float64 else torch.float64
    learning = {name: situation.other_inputs[name] for name in situation.learning}
    cast = {name: None if x is None else x.to(changed) for name, x in learning.items()}
    module.to(changed).call({**plain, **situation.other_inputs, **cast})
    module.to(situation.dtype).set(situation.weights)


def _call_with_other_weights(module: Module, situation: Situation, plain: Inputs) -> None:
    module.set(situation.other_weights)
    module.train(situation.training).call(plain)
    if situation.row[HISTORY.name] == LOADED:
        module.renew().to(situation.dtype)
    module.set(situation.weights)


_EARLIER_STEPS: dict[str, Callable[[Module, Situation, Inputs], None]] = {
    FIRST_CALL: _do_nothing,
    AFTER_ANOTHER_INPUT: _call_on_another_input,
    BEFORE_ANOTHER_INPUT: _do_nothing,
    AFTER_A_STEP: _train,
    AFTER_ANOTHER_DTYPE: _call_in_another_dtype,
    FILLED_ANEW: _do_nothing,
    AFTER_OTHER_WEIGHTS: _call_with_other_weights,
    LOADED: _call_with_other_weights,
}
HISTORY = Factor("history", tuple(_EARLIER_STEPS))
HISTORY_OF_FUNCTIONS = Factor(
    HISTORY.name, (FIRST_CALL, AFTER_ANOTHER_INPUT, BEFORE_ANOTHER_INPUT, FILLED_ANEW)
)
