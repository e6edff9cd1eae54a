"""warmup2: one head on bare parameters."""

from dataclasses import replace
from math import sqrt

from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, attention_map
from grader.attention import claims as attention
from grader.suite import Harness, Sizes, Weights, claims, points

ONE_SEQUENCE = (Sizes(B=0, T=5, C=7, E=11), Sizes(B=0, T=1, C=3, E=5))


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """softmax(q·kᵀ/√d_out)·v."""
    q, k, v = (x @ weights[name] for name in ("query", "key", "value"))
    return attention_map(q, k, 1 / sqrt(sizes.E)) @ v


contract = AttentionContract(
    entry="SelfAttention",
    sizes=(Sizes(B=2, T=5, C=7, E=11), Sizes(B=3, T=7, C=5, E=3), Sizes(B=2, T=3, C=5, E=5)),
    arguments=lambda sizes: {"d_in": sizes.C, "d_out": sizes.E},
    parameters=lambda sizes: dict.fromkeys(("query", "key", "value"), (sizes.C, sizes.E)),
    oracle=attend,
    outputs={"output": "B T E"},
    scale=lambda sizes: 1 / sqrt(sizes.E),
    value_vectors=lambda weights, sizes, x: (x @ weights["value"], 0.0),
    zero_queries=lambda weights: {**weights, "query": weights["query"] * 0},
    layout=WeightLayout("query", "key", "value", bare=True, widens=True),
    unbatched=True,
)

test_parameters_are_those_of_the_contract = claims.has_its_parameters
test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula


@points(1)
def test_sequence_without_a_batch(harness: Harness) -> None:
    """(T, d_in) in, (T, d_out) out: `.T` reverses all axes of a batch, `.mT` the last two."""
    alone = {"sizes": ONE_SEQUENCE, "unbatched": False, "variants": {}, "tried": False}
    claims.matches_the_formula(harness.of(replace(harness.contract, **alone)))


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
