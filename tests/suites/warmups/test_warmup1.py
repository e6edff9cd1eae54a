"""warmup1: attention without weights."""

from math import sqrt

import torch
from torch import Tensor

from grader.attention import AttentionContract, WeightLayout, attention_map
from grader.attention import claims as attention
from grader.suite import Draw, Input, Sizes, Weights, claims


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """softmax(x·xᵀ)·x."""
    return attention_map(x, x, 1.0) @ x


def unsaturated(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """The scores are x·xᵀ itself: of an x of this size, they leave the softmax unsaturated."""
    return draw.normal(*shape, std=1.5 / sqrt(sizes.C))


def rounded_sums(x: Tensor) -> float:
    """Scores that no scale keeps small round where their log-sum-exp is taken, which is right."""
    eps = torch.finfo(torch.promote_types(x.dtype, torch.float32)).eps
    return min(1e-3, 2 * eps * float(x.detach().double().square().sum(-1).max()))


contract = AttentionContract(
    entry="self_attention",
    inputs={"x": Input("B T C", unsaturated)},
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3), Sizes(B=5, T=2, C=11)),
    oracle=attend,
    extra_tolerance=rounded_sums,
    value_vectors=lambda weights, sizes, x: (x, 0.0),
    layout=WeightLayout(scaled=False),
)

test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_not_scaled = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one
test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
