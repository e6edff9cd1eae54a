"""Plan the steps of a situation: earlier calls, the call under test, and what follows it."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.suite.calls import PlannedCall
from grader.suite.harness import Harness
from grader.suite.modules import Module
from grader.suite.situations import gradients, history
from grader.suite.situations.gradients import IN_INFERENCE_MODE, INNER, OF_AN_X_THAT_LEARNS
from grader.suite.situations.history import BEFORE_ANOTHER_INPUT, HISTORY
from grader.suite.situations.situation import Situation


def plan(harness: Harness, situation: Situation) -> PlannedCall:
    """Plan all steps of a situation, and return its call under test.

    They are a group of their own: if one fails, the steps of other situations are still tried.
    """
    by_position = situation.coin and None not in situation.changes.values()
    with harness.batch.apart():
        module = harness.module(
            situation.sizes, situation.weights, by_position=by_position, **situation.changes
        )
        if situation.dtype != torch.float32:
            module.to(situation.dtype)
        history.go_through(module, situation)
        is_ready = situation.row.get(HISTORY.name) in history.IN_TRAINING_ALREADY
        stays = situation.training and is_ready
        ready = module.as_made() if stays else module.train(situation.training)
        return _plan_call(ready, situation)


def _plan_call(module: Module, situation: Situation) -> PlannedCall:
    """Plan the call under test with the calls and the backward that belong to it; return it."""
    level = situation.row[gradients.GRADIENTS.name]
    given: list[dict[str, Tensor | None]] = [dict(situation.inputs)]
    if level == OF_AN_X_THAT_LEARNS:
        given[0] |= {n: x.detach().requires_grad_() for n, x in situation.learning.items()}
    other = situation.other_inputs
    comes = situation.row.get(HISTORY.name)
    wants = situation.wants_gradients
    overwrites = comes == BEFORE_ANOTHER_INPUT and not wants
    refills = history.is_refilled(situation)
    made = module.calls(
        [other, *given] if refills else [*given, other] if overwrites else given,
        method=situation.method,
        by_keyword=situation.by_name,
        grad_output=_grad_outputs(situation) if wants else None,
        leaves=situation.learning_inputs,
        way=gradients.backward_of(situation.row),
        before_backward=lambda: (
            module.call(_requiring_gradients(other), grad_output=_grad_outputs(situation))
            if comes == BEFORE_ANOTHER_INPUT and wants
            else None
        ),
        frozen=situation.frozen if wants else [],
        inference=level == IN_INFERENCE_MODE,
        nonleaf_inputs=level == INNER and wants,
        detect_inplace=not refills,
        overwrites=overwrites,
        refill_inputs=refills,
    )
    return made[1 if refills else 0]


def _requiring_gradients(inputs: dict[str, Tensor | None]) -> dict[str, Tensor | None]:
    """Return copies of the inputs; those that are floats require a gradient."""
    return {
        name: x.detach().clone().requires_grad_() if x is not None and x.is_floating_point() else x
        for name, x in inputs.items()
    }


def _grad_outputs(situation: Situation) -> dict[str, Tensor]:
    scale, grads = situation.scale, situation.grad_outputs
    return grads if scale == 1 else {name: grad * scale for name, grad in grads.items()}
