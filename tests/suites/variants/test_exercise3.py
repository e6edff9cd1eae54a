"""exercise3: V3, mask, dropout and an output projection."""

from math import sqrt

from torch import Tensor

from grader.attention import MASK, NO_DROPOUT, AttentionContract, WeightLayout, X, attention_map
from grader.attention import claims as attention
from grader.suite import Sizes, Weights, claims, linear, load_suite

exercise2 = load_suite(__file__, "test_exercise2.py")


def attend(
    weights: Weights, sizes: Sizes, x: Tensor, attention_mask: Tensor | None = None
) -> Tensor:
    """output_proj(softmax(q·kᵀ/√C)·v), with q, k, v in this order along ``proj``."""
    q, k, v = linear(weights, "proj", x).chunk(3, dim=-1)
    return linear(
        weights, "output_proj", attention_map(q, k, 1 / sqrt(sizes.C), attention_mask) @ v
    )


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """One fused linear layer and one after the mixing, both with bias."""
    C = sizes.C
    return {
        "proj.weight": (3 * C, C),
        "proj.bias": (3 * C,),
        "output_proj.weight": (C, C),
        "output_proj.bias": (C,),
    }


def value_vectors(weights: Weights, sizes: Sizes, x: Tensor) -> tuple[Tensor, Tensor]:
    """What the attention weights mix: the values, as the output projection turns them."""
    v = linear(weights, "proj", x)[..., 2 * sizes.C :]
    return v @ weights["output_proj.weight"].mT, weights["output_proj.bias"]


def shift_keys(weights: Weights, shift: Tensor) -> Weights:
    """A vector added to every key: to the second third of the bias."""
    bias = weights["proj.bias"].clone()
    C = len(shift)
    bias[C : 2 * C] += shift
    return {**weights, "proj.bias": bias}


contract = AttentionContract(
    entry="SelfAttentionV3",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3), Sizes(B=5, T=2, C=11)),
    arguments=lambda sizes: {"hidden_dim": sizes.C, "dropout_rate": 0.3},
    parameters=shapes,
    oracle=attend,
    scale=lambda sizes: 1 / sqrt(sizes.C),
    value_vectors=value_vectors,
    zero_queries=exercise2.zero_queries,  # of the same fused layer
    shift_keys=shift_keys,
    inputs={"x": X, "attention_mask": MASK},
    deterministic=NO_DROPOUT,
    layout=WeightLayout(fused="proj", output="output_proj", bias=True, masks=True, dropout=True),
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
test_masked_output_matches_the_formula = attention.matches_the_formula_under_a_mask
test_nonzero_in_the_mask_means_may_attend = attention.nonzero_may_attend
test_hidden_key_has_no_influence = attention.hidden_key_has_no_influence
test_hidden_key_gets_no_gradient = attention.hidden_key_gets_no_gradient
test_mask_of_every_broadcastable_shape = attention.mask_broadcasts
test_mask_of_every_dtype = attention.mask_dtypes_mean_the_same
test_dropout_acts_on_the_weights_after_softmax = attention.drops_weights
test_dropout_drops_each_weight_on_its_own = attention.drops_each_weight_on_its_own
test_dropout_uses_the_rate_of_the_constructor = attention.uses_its_rate
test_dropout_rescales_what_it_keeps = attention.keeps_the_mean
test_evaluation_drops_nothing = attention.evaluation_is_deterministic
test_hidden_keys_stay_hidden_in_training = attention.hidden_keys_stay_hidden_in_training
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
