"""warmup2: one head on bare parameters."""

from dataclasses import replace
from math import sqrt

from torch import Tensor

from grader.diagnosis.form import Form
from grader.suite import claims
from grader.suite.marks import points
from grader.suite.oracle import Weights, attention_map
from grader.suite.subject import Sizes, Subject
from grader.suite.trial import Trial


def attend(weights: Weights, x: Tensor, mask: Tensor | None, sizes: Sizes) -> Tensor:
    """softmax(q·kᵀ/√d_out)·v."""
    q, k, v = (x @ weights[name] for name in ("query", "key", "value"))
    return attention_map(q, k, 1 / sqrt(sizes.out)) @ v


subject = Subject(
    name="SelfAttention",
    sizes=(Sizes(2, 5, 7, 11), Sizes(3, 7, 5, 3), Sizes(2, 3, 5, 5)),
    arguments=lambda sizes: {"d_in": sizes.C, "d_out": sizes.out},
    parameters=lambda sizes: dict.fromkeys(("query", "key", "value"), (sizes.C, sizes.out)),
    oracle=attend,
    scale=lambda sizes: 1 / sqrt(sizes.out),
    mix=lambda weights, x, sizes: (x @ weights["value"], 0.0),
    level_queries=lambda weights: {**weights, "query": weights["query"] * 0},
    form=Form("query", "key", "value", bare=True, widens=True),
)
one_sequence = replace(subject, sizes=(Sizes(0, 5, 7, 11), Sizes(0, 1, 3, 5)))

test_parameters_are_those_of_the_contract = claims.has_its_parameters
test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula


@points(1)
def test_sequence_without_a_batch(trial: Trial) -> None:
    """(T, d_in) in, (T, d_out) out: `.T` turns all axes of a batch around, `.mT` the last two."""
    claims.matches_the_formula(trial.of(one_sequence))


test_scores_are_divided_by_the_root_of_d_out = claims.scores_are_scaled
test_weights_of_each_query_sum_to_one = claims.weights_sum_to_one
test_values_are_mixed_not_the_input = claims.attends_all_alike_without_queries
test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_large_scores_stay_finite = claims.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device
