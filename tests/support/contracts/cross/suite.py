"""cross: queries of one sequence, keys of another, some of them padding."""

from math import sqrt

import torch
from torch import Tensor

from grader.attention import attention_map
from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect_close,
    linear,
    points,
)  # fmt: skip


def attend(
    weights: Weights, sizes: Sizes, x: Tensor, memory: Tensor, padding: Tensor | None = None
) -> Tensor:
    """softmax(q·kᵀ/√C)·v, keys and values from ``memory``."""
    q, k, v = (linear(weights, n, y) for n, y in zip("qkv", (x, memory, memory), strict=True))
    mask = None if padding is None else padding[..., None, :]
    return attention_map(q, k, 1 / sqrt(sizes.C), mask) @ v


def shown(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """True where a key is no padding."""
    return draw.mask(*shape)


def all_shown(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """No key is padding."""
    return torch.ones(shape, dtype=torch.bool)


def first_shown(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """All keys but the first are padding, in numbers."""
    return (torch.arange(shape[-1]) == 0).long().expand(shape)


contract = Contract(
    entry="Cross",
    sizes=(Sizes(B=3, T=5, S=2, C=7), Sizes(B=2, T=3, S=7, C=5)),
    inputs={
        "x": Input("B T C"),
        "memory": Input("B S C"),
        "padding": Input(
            "B S",
            shown,
            optional=True,
            differentiable=False,
            kinds={"some": shown, "none": all_shown, "all but the first": first_shown},
        ),
    },
    arguments=lambda sizes: {"width": sizes.C},
    parameters=lambda sizes: {f"{n}.weight": (sizes.C, sizes.C) for n in "qkv"},
    oracle=attend,
)

test_parameters = claims.has_its_parameters
test_output_keeps_its_form = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_under_padding = claims.matches_the_formula_with_everything_given
test_batch_items_are_independent = claims.batch_items_are_independent
test_queries_are_treated_alike = claims.follows_a_permutation
test_gradients_of_inputs = claims.input_gradient_is_right
test_gradients_of_parameters = claims.parameter_gradients_are_right
test_inputs_are_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_non_contiguous = claims.handles_non_contiguous_input
test_no_device = claims.is_pinned_to_no_device
test_bfloat16 = claims.computes_in_bfloat16


@points(2)
def test_padding_has_no_influence(harness: Harness) -> None:
    """Whatever stands there."""
    sizes = harness.sizes.replace(S=5)
    inputs = harness.inputs(sizes)
    inputs["padding"] = torch.ones(sizes.shape("B S"), dtype=torch.bool)
    inputs["padding"][:, 3:] = False
    loud = {**inputs, "memory": inputs["memory"].clone()}
    loud["memory"][:, 3:] = 100.0
    first, second = harness.module(sizes).calls([inputs, loud])
    harness.ask()
    expect_close(second.out, first.out.double())
