"""What is planned for a situation: what came before, the call, what follows it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.attention.situations.factors import ANOTHER_INPUT, WAY
from grader.attention.situations.filling import Situation
from grader.suite.calls import Call, Inputs, Module
from grader.suite.harness import Harness
from grader.wire.messages import Way

WAYS: dict[str, Way] = {
    "beside a residual": "residual", "of the transposed output": "transposed",
    "into .grad": "accumulated", "a second time": "again",
}  # fmt: skip


def plan(harness: Harness, situation: Situation) -> Call:
    """Plan the call that is looked at; what it needs fails by itself."""
    contract = situation.contract
    changes: dict[str, Any] = {"dropout_rate": situation.rate} if contract.dropout else {}
    by_position = situation.coin and (not changes or situation.rate is not None)
    with harness.batch.apart():
        module = harness.module(
            situation.sizes, situation.weights, by_position=by_position, **changes
        )
        if situation.dtype != torch.float32:
            module.to(situation.dtype)
        _go_through_history(module, situation)
        return _plan_call(module.train(situation.training), situation)


def _plan_call(module: Module, situation: Situation) -> Call:
    """The call that is looked at, with what follows it."""
    level = situation.row["gradients"]
    given: list[dict[str, Tensor | None]] = [dict(situation.inputs)]
    if level == "under no_grad, of an x that learns":
        given[0]["x"] = situation.x.detach().requires_grad_()
    other = {**situation.inputs, "x": situation.other_x}
    history = situation.row.get("history")
    wants = situation.wants_gradients
    is_layer = level == "with a layer frozen" and situation.learns_alone
    overwrites = history == "before another input" and not wants
    refills = _is_refilled(situation)
    made = module.calls(
        [other, *given] if refills else [*given, other] if overwrites else given,
        method=situation.method,
        by_keyword=("attention_mask",) if situation.row.get("mask given") == "by name" else (),
        grad_output=situation.grad_output * situation.scale if wants else None,
        leaves=level != "of the parameters alone" and not is_layer,
        way=WAYS.get(situation.row[WAY.name], "plain"),
        before_backward=lambda: (
            module.call(other) if history == "before another input" and wants else None
        ),
        frozen=situation.frozen if wants else [],
        inference=level == "in inference mode",
        through=level == "through another layer" and wants,
        detect_inplace=not refills,
        overwrites=overwrites,
        refills=refills,
    )
    return made[1 if refills else 0]


def _is_refilled(situation: Situation) -> bool:
    """Whether another call was given the same tensors, with other values."""
    meant = situation.row.get("history") == "in the same tensor, filled anew"
    tensors = [value for value in situation.inputs.values() if value is not None]
    apart = all(0 not in value.stride() for value in tensors)
    return meant and apart and not situation.wants_gradients


def _go_through_history(module: Module, situation: Situation) -> None:
    """What came before: nothing of it may show."""
    plain: Inputs = {**situation.inputs, "x": situation.x.contiguous()}
    other: Inputs = {"x": situation.other_x, "attention_mask": situation.other_mask}
    history = situation.row.get("history", ANOTHER_INPUT)
    match history:
        case "after another input":
            module.train(situation.training).call(other, inference=situation.coin)
        case "after a training step":
            grad_output = situation.grad_output if situation.visible is None else None
            module.train().call(
                {**plain, "x": situation.other_x}, grad_output=grad_output, way="accumulated"
            )
        case "after another dtype":
            changed = torch.float32 if situation.dtype == torch.float64 else torch.float64
            module.to(changed).call({**plain, "x": situation.other_x.to(changed)})
            module.to(situation.dtype).set(situation.weights)
        case "after other weights" | "loaded from a state":
            module.set(situation.other_weights)
            module.train(situation.training).call(plain)
            if history == "loaded from a state":
                module.renew().to(situation.dtype)
            module.set(situation.weights)
