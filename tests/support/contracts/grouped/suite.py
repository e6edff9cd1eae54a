"""grouped: queries in groups, and a cache that is handed in and out, step by step."""

from itertools import pairwise

import torch
from torch import Tensor

from grader.attention import attention_map, merge_heads, split_heads
from grader.suite import (
    Contract,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    fail,
    linear,
    points,
)


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v over the past; H/G heads share keys and values."""
    each = sizes.H // sizes.G
    q = split_heads(linear(weights, "q", x), sizes.H)
    k, v = (split_heads(linear(weights, n, x), sizes.G) for n in "kv")
    k, v = (y.repeat_interleave(each, dim=1) for y in (k, v))
    past = torch.ones(sizes.T, sizes.T).tril()
    mixed = attention_map(q, k, q.size(-1) ** -0.5, past) @ v
    return linear(weights, "out", merge_heads(mixed))


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Keys and values have G heads of the size of the queries'."""
    C, few = sizes.C, sizes.C // sizes.H * sizes.G
    widths = {"q": C, "k": few, "v": few, "out": C}
    return {f"{name}.weight": (width, C) for name, width in widths.items()}


contract = Contract(
    entry="Grouped",
    sizes=(Sizes(B=2, T=7, C=30, H=6, G=2), Sizes(B=3, T=5, C=14, H=2, G=1)),
    inputs={"x": Input("B T C"), "cache": Input("", optional=True, handed_on=True)},
    outputs={"output": "B T C", "cache": None},
    arguments=lambda sizes: {"width": sizes.C, "heads": sizes.H, "groups": sizes.G},
    parameters=shapes,
    oracle=attend,
)

test_parameters = claims.has_its_parameters
test_output_keeps_its_form = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_future_has_no_influence = claims.future_has_no_influence
test_gradients_of_parameters = claims.parameter_gradients_are_right
test_nothing_but_the_cache_is_remembered = claims.remembers_nothing
test_no_device = claims.is_pinned_to_no_device


def expect_the_same_in_parts(harness: Harness, *ends: int) -> None:
    """In parts that end at these positions, with the cache handed on, as at once."""
    module, inputs = harness.module(), harness.inputs()
    whole, parts = module.call(inputs), []
    for start, end in pairwise((0, *ends)):
        given = {"x": inputs["x"][:, start:end].contiguous()}
        parts.append(module.call(given | ({"cache": parts[-1].handle("cache")} if parts else {})))
    harness.ask()
    expect_close(torch.cat([part.out for part in parts], dim=1), whole.expected, "output in parts")


@points(3)
def test_step_by_step_is_as_at_once(harness: Harness) -> None:
    """The cache holds all that was seen."""
    expect_the_same_in_parts(harness, *range(1, harness.sizes.T + 1))


@points(2)
def test_part_by_part_is_as_at_once(harness: Harness) -> None:
    """Several positions at once see the cache, and of themselves the past only."""
    expect_the_same_in_parts(harness, 3, 5, harness.sizes.T)


@points(1)
def test_cache_holds_groups_and_no_heads(harness: Harness) -> None:
    """That is what the groups are for."""
    call = harness.module().call(harness.inputs())
    harness.ask()
    _ = call.outs  # is a pair
    sizes, cache = harness.sizes, call.result[1]
    tensors = [part for part in cache if isinstance(part, Tensor)]
    if len(tensors) != 2:
        fail("cache: expected a pair of Tensors")
    most = sizes.B * sizes.T * sizes.C // sizes.H * sizes.G
    held = max(part.numel() for part in tensors)
    expect(held <= most, f"cache: expected {most} numbers each, got {held}")
