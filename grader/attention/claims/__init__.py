"""The claims that apply to attention alone; in their examples ``attention`` is this package.

Example:
    test_weights_sum_to_one = attention.weights_sum_to_one
"""

from grader.attention.claims.devices import is_pinned_to_no_device
from grader.attention.claims.dropout import (
    drops_each_weight_on_its_own,
    drops_weights,
    evaluation_is_deterministic,
    hidden_keys_stay_hidden_in_training,
    keeps_the_mean,
    uses_its_rate,
)
from grader.attention.claims.heads import (
    heads_are_blocks,
    output_mixes_the_heads,
    refuses_heads_that_do_not_divide,
)
from grader.attention.claims.masks import (
    hidden_key_gets_no_gradient,
    hidden_key_has_no_influence,
    mask_broadcasts,
    mask_dtypes_mean_the_same,
    matches_the_formula_under_a_mask,
    nonzero_may_attend,
)
from grader.attention.claims.memory import (
    memory_mask_is_not_remembered,
    memory_mask_means_the_same_in_every_form,
    memory_may_have_any_length,
    no_memory_mask_hides_nothing,
    nothing_to_read_gives_no_gradient,
    nothing_to_read_gives_zeros,
    order_of_the_memory_means_nothing,
    padding_gets_no_gradient,
    padding_has_no_influence,
)
from grader.attention.claims.mistakes import mistake_is_gone, planted_mistakes_are_gone
from grader.attention.claims.scores import (
    attends_all_alike_without_queries,
    large_scores_stay_finite,
    scores_are_scaled,
    weights_sum_to_one,
)

__all__ = [
    "attends_all_alike_without_queries",
    "drops_each_weight_on_its_own",
    "drops_weights",
    "evaluation_is_deterministic",
    "heads_are_blocks",
    "hidden_key_gets_no_gradient",
    "hidden_key_has_no_influence",
    "hidden_keys_stay_hidden_in_training",
    "is_pinned_to_no_device",
    "keeps_the_mean",
    "large_scores_stay_finite",
    "mask_broadcasts",
    "mask_dtypes_mean_the_same",
    "matches_the_formula_under_a_mask",
    "memory_mask_is_not_remembered",
    "memory_mask_means_the_same_in_every_form",
    "memory_may_have_any_length",
    "mistake_is_gone",
    "no_memory_mask_hides_nothing",
    "nonzero_may_attend",
    "nothing_to_read_gives_no_gradient",
    "nothing_to_read_gives_zeros",
    "order_of_the_memory_means_nothing",
    "output_mixes_the_heads",
    "padding_gets_no_gradient",
    "padding_has_no_influence",
    "planted_mistakes_are_gone",
    "refuses_heads_that_do_not_divide",
    "scores_are_scaled",
    "uses_its_rate",
    "weights_sum_to_one",
]
