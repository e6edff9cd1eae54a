"""exercise1: V1, three projections."""

from math import sqrt

from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, attention_map
from grader.attention import claims as attention
from grader.suite import Sizes, Weights, claims, linear


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """softmax(q·kᵀ/√C)·v."""
    q, k, v = (linear(weights, name, x) for name in "qkv")
    return attention_map(q, k, 1 / sqrt(sizes.C)) @ v


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Three linear layers with bias."""
    C = sizes.C
    return {f"{n}.{kind}": s for n in "qkv" for kind, s in (("weight", (C, C)), ("bias", (C,)))}


def zero_queries(weights: Weights) -> Weights:
    """All queries zero."""
    return {name: w * 0 if name.startswith("q.") else w for name, w in weights.items()}


def value_vectors(weights: Weights, sizes: Sizes, x: Tensor) -> tuple[Tensor, float]:
    """What the attention weights mix: the values."""
    return linear(weights, "v", x), 0.0


contract = AttentionContract(
    entry="SelfAttentionV1",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3), Sizes(B=5, T=2, C=11)),
    arguments=lambda sizes: {"hidden_dim": sizes.C},
    parameters=shapes,
    oracle=attend,
    scale=lambda sizes: 1 / sqrt(sizes.C),
    value_vectors=value_vectors,
    zero_queries=zero_queries,
    layout=WeightLayout("q", "k", "v", bias=True),
)

test_parameters_are_those_of_the_contract = claims.has_its_parameters
test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_divided_by_the_root_of_hidden_dim = attention.scores_are_scaled
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
