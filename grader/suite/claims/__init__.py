"""The claims that suites share: each takes a Trial and fails the check where it does not hold."""

from grader.suite.claims.attention import (
    attends_all_alike_without_queries,
    large_scores_stay_finite,
    scores_are_scaled,
    weights_sum_to_one,
)
from grader.suite.claims.dropout import (
    drops_each_weight_on_its_own,
    drops_weights,
    evaluation_is_deterministic,
    hidden_keys_stay_hidden_in_training,
    keeps_the_mean,
    uses_its_rate,
)
from grader.suite.claims.gradients import input_gradient_is_right, parameter_gradients_are_right
from grader.suite.claims.masks import (
    hidden_key_gets_no_gradient,
    hidden_key_has_no_influence,
    mask_broadcasts,
    mask_dtypes_mean_the_same,
    matches_the_formula_under_a_mask,
    nonzero_may_attend,
)
from grader.suite.claims.mistakes import mistake_is_gone, planted_mistakes_are_gone
from grader.suite.claims.robustness import (
    changes_no_input,
    computes_in_bfloat16,
    computes_in_float64,
    handles_a_long_sequence,
    handles_a_single_token,
    handles_non_contiguous_input,
    is_pinned_to_no_device,
    remembers_nothing,
)
from grader.suite.claims.structure import (
    constructor_raises,
    has_its_parameters,
    keeps_shape_and_dtype,
)
from grader.suite.claims.values import (
    batch_items_are_independent,
    follows_a_permutation,
    matches_the_formula,
)

__all__ = [
    "attends_all_alike_without_queries",
    "batch_items_are_independent",
    "changes_no_input",
    "computes_in_bfloat16",
    "computes_in_float64",
    "constructor_raises",
    "drops_each_weight_on_its_own",
    "drops_weights",
    "evaluation_is_deterministic",
    "follows_a_permutation",
    "handles_a_long_sequence",
    "handles_a_single_token",
    "handles_non_contiguous_input",
    "has_its_parameters",
    "hidden_key_gets_no_gradient",
    "hidden_key_has_no_influence",
    "hidden_keys_stay_hidden_in_training",
    "input_gradient_is_right",
    "is_pinned_to_no_device",
    "keeps_shape_and_dtype",
    "keeps_the_mean",
    "large_scores_stay_finite",
    "mask_broadcasts",
    "mask_dtypes_mean_the_same",
    "matches_the_formula",
    "matches_the_formula_under_a_mask",
    "mistake_is_gone",
    "nonzero_may_attend",
    "parameter_gradients_are_right",
    "planted_mistakes_are_gone",
    "remembers_nothing",
    "scores_are_scaled",
    "uses_its_rate",
    "weights_sum_to_one",
]
