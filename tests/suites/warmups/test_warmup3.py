"""warmup3: one head on linear layers."""

from dataclasses import replace
from math import sqrt

from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, attention_map
from grader.attention import claims as attention
from grader.suite import Harness, Sizes, Weights, claims, linear, points


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
one_sequence = replace(
    contract, sizes=(Sizes(B=0, T=5, C=7, E=11), Sizes(B=0, T=1, C=3, E=5)), tried=False
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
    claims.has_its_parameters(harness.of(biased))
    claims.matches_the_formula(harness.of(biased))


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula


@points(1)
def test_sequence_without_a_batch(harness: Harness) -> None:
    """(T, d_in) in, (T, d_out) out: `.T` turns all axes of a batch around, `.mT` the last two."""
    claims.matches_the_formula(harness.of(one_sequence))


test_scores_are_divided_by_the_root_of_d_out = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one
test_values_are_mixed_not_the_input = attention.attends_all_alike_without_queries
test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
