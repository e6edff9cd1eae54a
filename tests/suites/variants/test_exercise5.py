"""exercise5: multi-head."""

from dataclasses import replace

from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, values_of_heads
from grader.attention import claims as attention
from grader.attention.oracle import multi_head
from grader.suite import Harness, Sizes, Weights, claims, linear, points

LAYERS = ("to_queries", "to_keys", "to_values", "unify_heads")


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v, concatenated, then unify_heads."""
    q, k, v = (linear(weights, name, x) for name in LAYERS[:3])
    return linear(weights, "unify_heads", multi_head(q, k, v, sizes.H))


contract = AttentionContract(
    entry="MultiHeadSelfAttention",
    sizes=(
        Sizes(B=2, T=7, C=15, H=3),
        Sizes(B=3, T=5, C=7, H=1),
        Sizes(B=2, T=3, C=14, H=2),
        Sizes(B=3, T=2, C=5, H=5),
    ),
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H},
    parameters=lambda sizes: {f"{name}.weight": (sizes.C, sizes.C) for name in LAYERS},
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=values_of_heads("to_values", "unify_heads"),
    zero_queries=lambda weights: {**weights, "to_queries.weight": weights["to_queries.weight"] * 0},
    layout=WeightLayout("to_queries", "to_keys", "to_values", output="unify_heads", heads=True),
)
one_head = replace(contract, sizes=(Sizes(B=3, T=5, C=7, H=1),), tried=False)

test_parameters_are_those_of_the_contract = claims.has_its_parameters
test_heads_that_do_not_divide_are_a_value_error = attention.refuses_heads_that_do_not_divide
test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(2)
def test_values_are_mixed_not_the_input(harness: Harness) -> None:
    """With all queries at zero, one head gives the mean of the values and of nothing else."""
    attention.attends_all_alike_without_queries(harness.of(one_head))


test_heads_are_blocks_of_consecutive_features = attention.heads_are_blocks(
    "to_queries", "unify_heads"
)


@points(2)
def test_heads_are_merged_back_token_by_token(harness: Harness) -> None:
    """With all queries at zero every token gets the same output; a lost transpose mixes tokens."""
    attention.attends_all_alike_without_queries(harness)


test_unify_heads_mixes_the_merged_heads = attention.output_mixes_the_heads("unify_heads")
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
