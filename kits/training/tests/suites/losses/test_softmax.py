"""softmax: forward and backward of softmax."""

import torch
from torch import Tensor

from grader.suite import (
    Contract,
    Harness,
    Sizes,
    Weights,
    claims,
    expect_close,
    expect_gradient,
    points,
)


def right(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """exp(x) / Σ exp(x)."""
    return x.softmax(-1)


contract = Contract(
    entry="softmax",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3)),
    oracle=right,
    is_exact=lambda sizes: True,
)

test_shares_keep_shape_and_dtype = claims.keeps_shape_and_dtype
test_shares_match_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_gradient_is_right = claims.input_gradient_is_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16


def expect_right(harness: Harness, *inputs: Tensor) -> None:
    """Shares and gradient there."""
    module = harness.module()
    calls = [module.call({"x": x}, grad_output=harness.draw.normal(*x.shape)) for x in inputs]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "shares")
        expect_close(call.gradients["x"], call.right_gradients["x"], "gradient of x")


@points(2)
def test_backward_is_the_derivative(harness: Harness) -> None:
    """A hand-written backward is the derivative of its forward; to a gradient of 0 it gives 0."""
    claims.passes_gradcheck(harness)
    x = harness.input("x")
    call = harness.module().call({"x": x}, grad_output=torch.zeros_like(x))
    harness.ask()
    gradient = expect_gradient(call.gradients["x"], "x")
    expect_close(gradient, call.right_gradients["x"], "gradient of x")


@points(2)
def test_large_entries_do_not_overflow(harness: Harness) -> None:
    """exp(1000) is infinite in float32 and exp(-1000) is 0, no sum of shares is either.

    Where all are 1e8, the logarithm of their count is lost in a sum; up to there none is cut off.
    """
    x = harness.inputs()["x"]
    largest = x / x.abs().max() * 1e8
    expect_right(harness, x + 1000, x - 1000, torch.full_like(x, 1e8), largest)


@points(2)
def test_vectors_far_apart_are_right(harness: Harness) -> None:
    """A vector has a maximum of its own, and one alone, however long it is.

    Beside one larger by 1000 it has shares as well. In bfloat16, a sum that grows entry by entry
    stays at 1 when 0.0037 is added. A share of e⁻⁶⁰ is a share, too.
    """
    x, long = harness.input("x"), harness.input("x", Sizes(B=1, T=2, C=1031))
    expect_right(harness, x + 1000.0 * (torch.arange(x.size(1)) % 3 - 1)[:, None], long)
    long[:], long[..., 0] = -5.6, 0
    expect_right(harness, long.bfloat16())
    x[..., 0] -= 60
    call = harness.module().call({"x": x})
    harness.ask()
    expect_close(call.out.log(), call.expected.log(), "logarithms of the shares")
