"""Plan the steps of a situation: earlier calls, the call under test, and what follows it."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.suite.calls import PlannedCall
from grader.suite.harness import Harness
from grader.suite.modules import Module
from grader.suite.right_results import Inputs
from grader.suite.situations.levels import (
    AFTER_A_STEP,
    AFTER_ANOTHER_INPUT,
    FILLED_ANEW,
    GRADIENT_WAY,
    INNER,
    RESIDUAL,
)
from grader.suite.situations.situation import Situation
from grader.wire.messages import BackwardVariant

# Histories after which a module is in training: as it was made, or by the call before.
IN_TRAINING_ALREADY = ("first call", AFTER_A_STEP)
WAY_BY_LEVEL: dict[str, BackwardVariant] = {
    RESIDUAL: "residual", "of the transposed output": "transposed", "into .grad": "accumulated",
    "a second time": "again",
}  # fmt: skip


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
        _go_through_history(module, situation)
        stays = situation.training and situation.row.get("history") in IN_TRAINING_ALREADY
        ready = module.as_made() if stays else module.train(situation.training)
        return _plan_call(ready, situation)


def _plan_call(module: Module, situation: Situation) -> PlannedCall:
    """Plan the call under test with the calls and the backward that belong to it; return it."""
    level = situation.row["gradients"]
    given: list[dict[str, Tensor | None]] = [dict(situation.inputs)]
    if level == "under no_grad, of an x that learns":
        given[0] |= {n: x.detach().requires_grad_() for n, x in situation.learning.items()}
    other = situation.other_inputs
    history = situation.row.get("history")
    wants = situation.wants_gradients
    overwrites = history == "before another input" and not wants
    refills = _is_refilled(situation)
    made = module.calls(
        [other, *given] if refills else [*given, other] if overwrites else given,
        method=situation.method,
        by_keyword=situation.by_name,
        grad_output=_grad_outputs(situation) if wants else None,
        leaves=situation.learning_inputs,
        way=WAY_BY_LEVEL.get(situation.row[GRADIENT_WAY.name], "plain"),
        before_backward=lambda: (
            module.call(_requiring_gradients(other), grad_output=_grad_outputs(situation))
            if history == "before another input" and wants
            else None
        ),
        frozen=situation.frozen if wants else [],
        inference=level == "in inference mode",
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


def _is_refilled(situation: Situation) -> bool:
    """Return whether an earlier call gets the same tensors, which are filled anew afterwards."""
    meant = situation.row.get("history") == FILLED_ANEW
    tensors = situation.tensors.items()
    apart = all(0 not in value.stride() for _, value in tensors)
    other_inputs = situation.other_inputs
    alike = all(
        (other := other_inputs[n]) is not None and other.dtype == x.dtype for n, x in tensors
    )
    return meant and apart and alike and not situation.wants_gradients


def _go_through_history(module: Module, situation: Situation) -> None:
    """Plan what comes before the call under test, such as another call, and must not affect it."""
    plain: Inputs = {
        **situation.inputs,
        **{name: x.contiguous() for name, x in situation.learning.items()},
    }
    other: Inputs = {**plain, **situation.other_inputs}
    history = situation.row.get("history", AFTER_ANOTHER_INPUT)
    match history:
        case "after another input":
            module.train(situation.training).call(
                situation.earlier_inputs, inference=situation.coin
            )
        case "after a training step":
            grad_output = situation.grad_outputs if situation.visible is None else None
            module.set({name: value / 2 for name, value in situation.weights.items()})
            module.train().call(other, grad_output=grad_output, way="accumulated")
            module.set(situation.weights)  # as an optimizer does
        case "after another dtype":
            changed = torch.float32 if situation.dtype == torch.float64 else torch.float64
            learning = {name: situation.other_inputs[name] for name in situation.learning}
            cast = {name: None if x is None else x.to(changed) for name, x in learning.items()}
            module.to(changed).call({**other, **cast})
            module.to(situation.dtype).set(situation.weights)
        case "after other weights" | "loaded from a state":
            module.set(situation.other_weights)
            module.train(situation.training).call(plain)
            if history == "loaded from a state":
                module.renew().to(situation.dtype)
            module.set(situation.weights)
