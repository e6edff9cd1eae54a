"""warmup3: one head on linear layers."""

from dataclasses import replace
from math import sqrt

from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, attention_map
from grader.suite import (
    Harness,
    Sizes,
    Weights,
    checks_of,
    claims,
    expect,
    linear,
    load_suite,
    points,
)

warmup2 = load_suite(__file__, "test_warmup2.py")


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """softmax(q·kᵀ/√d_out)·v."""
    q, k, v = (linear(weights, name, x) for name in ("query", "key", "value"))
    return attention_map(q, k, 1 / sqrt(sizes.E)) @ v


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Without biases."""
    return {f"{name}.weight": (sizes.E, sizes.C) for name in ("query", "key", "value")}


def shapes_with_bias(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """With ``qkv_bias=True``."""
    return shapes(sizes) | {f"{name}.bias": (sizes.E,) for name in ("query", "key", "value")}


contract = AttentionContract(
    entry="SelfAttention",
    sizes=(Sizes(B=2, T=5, C=7, E=11), Sizes(B=3, T=7, C=5, E=3), Sizes(B=2, T=3, C=5, E=5)),
    arguments=lambda sizes: {"d_in": sizes.C, "d_out": sizes.E},
    parameters=shapes,
    oracle=attend,
    outputs={"output": "B T E"},
    scale=lambda sizes: 1 / sqrt(sizes.E),
    value_vectors=lambda weights, sizes, x: (linear(weights, "value", x), 0.0),
    zero_queries=lambda weights: {**weights, "query.weight": weights["query.weight"] * 0},
    layout=WeightLayout("query", "key", "value", widens=True),
)
biased = replace(
    contract,
    tried=False,
    arguments=lambda sizes: {"d_in": sizes.C, "d_out": sizes.E, "qkv_bias": True},
    parameters=shapes_with_bias,
)
contract = replace(
    contract, unbatched=True, variants={"qkv_bias=False": contract, "qkv_bias=True": biased}
)

test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_qkv_bias_gives_all_three_layers_a_bias(harness: Harness) -> None:
    """The argument has to reach the layers, and its default is False."""
    module = harness.of(biased).module(weights={})
    harness.ask()
    assert module.made is not None
    own = map(module.deviations.own_name, shapes_with_bias(harness.sizes))
    lacking = [name for name in own if name not in module.made.parameters]
    expect(not lacking, f"expected a parameter `{''.join(lacking[:1])}` at qkv_bias=True")
    claims.matches_the_formula(harness.of(biased))


globals().update(checks_of(warmup2))
