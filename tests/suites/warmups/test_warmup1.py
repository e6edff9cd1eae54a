"""warmup1: attention without weights."""

from torch import Tensor

from grader.diagnosis.form import Form
from grader.suite import claims
from grader.suite.oracle import Weights, attention_map
from grader.suite.subject import Sizes, Subject


def attend(weights: Weights, x: Tensor, mask: Tensor | None, sizes: Sizes) -> Tensor:
    """softmax(x·xᵀ)·x."""
    return attention_map(x, x, 1.0) @ x


subject = Subject(
    name="self_attention",
    sizes=(Sizes(3, 5, 7), Sizes(2, 7, 3), Sizes(5, 2, 11)),
    oracle=attend,
    mix=lambda weights, x, sizes: (x, 0.0),
    form=Form(scaled=False),
)

test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_not_scaled = claims.scores_are_scaled
test_weights_of_each_query_sum_to_one = claims.weights_sum_to_one
test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_large_scores_stay_finite = claims.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device
