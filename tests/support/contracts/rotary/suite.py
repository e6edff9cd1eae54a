"""rotary: a function of positions, of which only differences matter."""

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
    expect_differs,
    points,
)


def rotate(weights: Weights, sizes: Sizes, x: Tensor, positions: Tensor) -> Tensor:
    """Turn pair (i, i + D/2) by position / 10000^(2i/D)."""
    half = sizes.D // 2
    speeds = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = positions.double()[:, None] * speeds
    a, b = x[..., :half], x[..., half:]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def places(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Some positions, in no order."""
    return draw.order(shape[0]) * 3 + 1


contract = Contract(
    entry="rotate",
    sizes=(Sizes(B=2, H=3, T=5, D=6), Sizes(B=3, H=2, T=3, D=10)),
    inputs={"x": Input("B H T D"), "positions": Input("T", places, differentiable=False)},
    outputs={"output": "B H T D"},
    oracle=rotate,
    extra_tolerance=lambda x, positions: 5e-7 * float(positions.max()),  # of an angle in float32
    fit=lambda sizes: sizes.replace(D=sizes.D + sizes.D % 2),
)

test_output_keeps_its_form = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_positions_move_with_their_tokens = claims.follows_a_permutation
test_batch_items_are_independent = claims.batch_items_are_independent
test_gradient_of_the_input = claims.input_gradient_is_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_no_device = claims.is_pinned_to_no_device
test_bfloat16 = claims.computes_in_bfloat16


@points(2)
def test_only_differences_of_positions_matter(harness: Harness) -> None:
    """All moved by the same number, every product of a query and a key stays."""
    inputs, keys = harness.inputs(), harness.inputs()
    module = harness.module()
    shifts = [0, 11]
    calls = [
        module.calls([{**one, "positions": inputs["positions"] + by} for one in (inputs, keys)])
        for by in shifts
    ]
    harness.ask()
    first, second = (q.out.double() @ k.out.double().mT for q, k in calls)
    expect_close(second, first, "products of queries and keys", 1e-4)
    expect_differs(calls[1][0].out, calls[0][0].out, "the output at other positions")
