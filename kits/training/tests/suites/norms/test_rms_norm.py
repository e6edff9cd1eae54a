"""rms_norm: forward and backward of RMS norm."""

import torch
from torch import Tensor

from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect_close,
    expect_gradient,
    points,
)

SUMS = (  # B, T, dtype, tolerance
    (1, 601, torch.bfloat16, None),
    (601, 1, torch.bfloat16, None),
    (3, 5, torch.float64, 1e-10),
)


def gains(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Around 1, as gains are."""
    return draw.normal(*shape) * 0.5 + 1


def right(weights: Weights, sizes: Sizes, x: Tensor, weight: Tensor) -> Tensor:
    """weight · x / √(mean(x²) + 1e-6)."""
    return weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


contract = Contract(
    entry="rms_norm",
    inputs={"x": Input("B T C"), "weight": Input("C", gains)},
    outputs={"output": "B T C"},
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3)),
    oracle=right,
)

test_output_keeps_shape_and_dtype = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_gradients_are_right = claims.input_gradient_is_right
test_inputs_are_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device


@points(2)
def test_backward_is_the_derivative(harness: Harness) -> None:
    """A hand-written backward is the derivative of its forward.

    In bfloat16, a sum that grows vector by vector, or batch item by batch item, stays at 128 when
    0.4 is added; and in float64 none is taken in float32.
    """
    claims.passes_gradcheck(harness)
    calls = []
    for batch, length, dtype, _ in SUMS:
        sizes = harness.sizes.replace(B=batch, T=length)
        inputs = {name: value.to(dtype) for name, value in harness.inputs(sizes).items()}
        inputs["x"] = inputs["x"].sign()
        calls.append(harness.module(sizes).call(inputs, grad_output=0.4 * inputs["x"]))
    harness.ask()
    for call, (*_, tolerance) in zip(calls, SUMS, strict=True):
        found = expect_gradient(call.gradients["weight"], "weight")
        expect_close(found, call.right_gradients["weight"], "gradient of weight", tolerance)


@points(2)
def test_small_vectors_show_where_eps_is(harness: Harness) -> None:
    """Where the mean of the squares is no larger than eps, eps decides."""
    inputs = harness.inputs()
    inputs["x"] = inputs["x"] * 1e-3
    call = harness.module().call(inputs)
    harness.ask()
    expect_close(call.out, call.expected)


@points(2)
def test_zeros_stay_zeros_and_have_a_gradient(harness: Harness) -> None:
    """A vector of zeros is divided by √eps: its gradient is large, and finite."""
    inputs = harness.inputs()
    inputs["x"][:, 0] = 0
    call = harness.module().call(inputs, grad_output=harness.input("x"))
    harness.ask()
    expect_close(call.out, call.expected)
    expect_close(call.gradients["x"], call.right_gradients["x"], "gradient of x")


def test_one_entry_may_outweigh_all_others(harness: Harness) -> None:
    """The larger C is, the larger the one entry may come out: nothing is cut off."""
    sizes = harness.sizes.replace(C=1031)
    inputs = harness.inputs(sizes)
    inputs["x"][..., 0] = 1000
    call = harness.module(sizes).call(inputs)
    harness.ask()
    expect_close(call.out, call.expected)
