"""Claims about gradients, compared with those of the float64 oracle."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError, gradcheck

from grader.suite.calls import GradientsByName, PlannedCall
from grader.suite.compare import (
    expect,
    expect_close,
    expect_dtype,
    expect_gradient,
    fail,
    may_be_none,
)
from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.modules import Module
from grader.suite.right_results import Inputs, sizes_of_call
from grader.suite.situations.implied import expect_right

# Larger than that of outputs: gradients are longer sums, added up in another order.
GRADIENT_TOLERANCE = 1e-4
GRADCHECK_RTOL = 1e-5  # finite differences in float64 are off by 1e-8
GRADCHECK_ATOL = 1e-8  # torch multiplies it by thousands, as it sums many numbers

GradientsPair = tuple[dict[str, Tensor], GradientsByName]  # the right gradients, and those found


@points(1)
@needs(Contract, "differentiable")
def input_gradient_is_right(harness: Harness) -> None:
    """The layers below this one learn through it.

    Example:
        test_gradient_of_the_input_is_right = claims.input_gradient_is_right
    """
    for right, found in harness.shared(observe_gradients):
        for name in [name for name in right if name in harness.contract.inputs]:
            _expect_gradient_close(name, found[name], right[name])
    expect_right(harness, "input_gradient_is_right")


@points(2)
@needs(Contract, "parameters")
def parameter_gradients_are_right(harness: Harness) -> None:
    """A model with a right output but wrong gradients learns nothing.

    Example:
        test_gradients_of_the_parameters_are_right = claims.parameter_gradients_are_right
    """
    for right, found in harness.shared(observe_gradients):
        for name in [name for name in right if name not in harness.contract.inputs]:
            _expect_gradient_close(name, found.get(name), right[name])
    expect_right(harness, "parameter_gradients_are_right")


def observe_gradients(harness: Harness) -> list[GradientsPair]:
    """Return the right gradients and the submission's, for each of several calls.

    They are made without optional inputs and with them, in evaluation and in training, and then
    with most parameters frozen.
    """
    calls = []
    # The second is in training: what is detached only in training is never learned.
    for module in (harness.module(), harness.in_training(harness.sizes.usual())):
        inputs = harness.smooth_inputs(module)
        more = {name: harness.input(name, module.sizes) for name in harness.contract.optional}
        for given in (inputs, {**inputs, **more}) if more else (inputs,):
            calls.append(module.call(given, grad_output=_draw_grad_outputs(harness, module, given)))
    alone = _plan_what_learns_alone(harness)
    harness.ask_for([*calls, *(call for call, _ in alone)])
    whole: list[GradientsPair] = [(call.right_gradients, call.gradients) for call in calls]
    return whole + [_gradients_pair(call, learning) for call, learning in alone]


def _plan_what_learns_alone(harness: Harness) -> list[tuple[PlannedCall, set[str]]]:
    """Plan calls with gradients of one layer or part and the inputs, or of one parameter alone.

    All other parameters are frozen. Return each call with the names of what has gradients.
    """
    cases = (harness.contract, *harness.contract.variants.values())
    contract = max(cases, key=lambda one: len(_parameters(one)))
    harness, names = harness.of(contract), _parameters(contract)
    parts = {part: None for name in names for part in (name.rpartition(".")[0], name.split(".")[0])}
    groups = [{one for one in names if one.startswith(f"{part}.") or not part} for part in parts]
    every = [*((some, True) for some in groups), *(({name}, False) for name in names)]
    if not every:
        return []
    # The same numbers each time: so all right gradients are computed at once.
    weights, planned = harness.weights(harness.sizes), []
    modules = [harness.module(weights=weights) for _ in every]
    inputs = harness.smooth_inputs(modules[0])
    grad_outputs = _draw_grad_outputs(harness, modules[0], inputs)
    for module, (learning, leaves) in zip(modules, every, strict=True):
        call = module.call(
            inputs,
            grad_output=grad_outputs,
            frozen=[name for name in names if name not in learning],
            leaves=leaves,
        )
        wanted = {*learning, *(contract.differentiable if leaves else ())}
        planned.append((call, wanted))
    return planned


def _parameters(contract: Contract) -> list[str]:
    names = contract.parameters(contract.sizes[0]) if contract.parameters else ()
    return [name for name in names if name not in contract.frozen]


def _gradients_pair(call: PlannedCall, names: set[str]) -> GradientsPair:
    right = {name: one for name, one in call.right_gradients.items() if name in names}
    _ = call.outs  # fails unless these are Tensors of the right shapes
    return right, call.gradients if call.carries_gradients else dict.fromkeys(right)


def _draw_grad_outputs(harness: Harness, module: Module, inputs: Inputs) -> dict[str, Tensor]:
    """Draw a gradient for each compared output, by name, from which a backward starts."""
    sizes = sizes_of_call(harness.contract, module.sizes, inputs)
    shapes = harness.contract.compared_shapes
    return {name: harness.draw.normal(*sizes.shape(one)) for name, one in shapes.items()}


def _expect_gradient_close(name: str, got: Tensor | None, expected: Tensor) -> None:
    if got is None and may_be_none(expected):
        return
    expect_close(expect_gradient(got, name), expected, f"gradient of {name}", GRADIENT_TOLERANCE)


@points(2)
@needs(Contract, "differentiable")
def passes_gradcheck(harness: Harness) -> None:
    """A hand-written backward is the derivative of its forward.

    Example:
        test_backward_is_the_derivative = claims.passes_gradcheck
    """
    inputs = {name: value.double() for name, value in harness.inputs().items()}
    face = harness.face(dtype=torch.float64)
    leaves = [
        value.requires_grad_(name in harness.contract.differentiable)
        for name, value in inputs.items()
    ]

    def in_float64(*tensors: Tensor) -> Any:
        outputs = face(*tensors)
        for out in outputs if isinstance(outputs, tuple | list) else (outputs,):
            is_readable = isinstance(out, Tensor) and not out.is_meta
            expect(is_readable, "output of inputs in float64: expected Tensors with values")
            expect_dtype(out, torch.float64, "output of inputs in float64")
        return outputs

    try:
        gradcheck(in_float64, leaves, fast_mode=True, atol=GRADCHECK_ATOL, rtol=GRADCHECK_RTOL)
    except GradcheckError as error:
        fail(str(error).strip().splitlines()[0])
