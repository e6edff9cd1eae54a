"""causal: no position sees what comes after it."""

from math import sqrt

import torch
from torch import Tensor

from grader.attention import AttentionContract, attention_map
from grader.attention import claims as attention
from grader.suite import Sizes, Weights, claims, linear


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """softmax(q·kᵀ/√C)·v over the past."""
    q, k, v = (linear(weights, name, x) for name in "qkv")
    past = torch.ones(sizes.T, sizes.T).tril()
    return attention_map(q, k, 1 / sqrt(sizes.C), past) @ v


contract = AttentionContract(
    entry="Causal",
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3)),
    arguments=lambda sizes: {"width": sizes.C},
    parameters=lambda sizes: {f"{n}.weight": (sizes.C, sizes.C) for n in "qkv"},
    oracle=attend,
    scale=lambda sizes: 1 / sqrt(sizes.C),
    value_vectors=lambda weights, sizes, x: (linear(weights, "v", x), 0.0),
    zero_queries=lambda weights: {**weights, "q.weight": weights["q.weight"] * 0},
)

test_parameters = claims.has_its_parameters
test_output_matches_the_formula = claims.matches_the_formula
test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient
test_long_sequence = claims.handles_a_long_sequence_from_its_start
test_scores_are_scaled = attention.scores_are_scaled
test_weights_sum_to_one = attention.weights_sum_to_one
test_uniform_weights = attention.attends_all_alike_without_queries
test_gradients_of_parameters = claims.parameter_gradients_are_right
test_no_device = claims.is_pinned_to_no_device
test_float64 = claims.computes_in_float64
