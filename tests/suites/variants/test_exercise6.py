"""exercise6: a transformer block."""

from dataclasses import replace

import torch
from torch import Tensor

from grader.attention import AttentionContract, WeightLayout
from grader.attention import claims as attention_claims
from grader.suite import Harness, Sizes, Weights, claims, expect_close, linear, load_suite, points
from grader.suite.oracle import layer_norm

LAYERS = ("to_queries", "to_keys", "to_values", "unify_heads")
SIZES = (Sizes(B=2, T=7, C=15, H=3), Sizes(B=3, T=5, C=7, H=1), Sizes(B=2, T=3, C=14, H=2))


exercise5 = load_suite(__file__, "test_exercise5.py")
attention = replace(exercise5.contract, sizes=SIZES, tried=False)


def run_attention(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """norm1(x + attention(x))."""
    inner = {n.removeprefix("attention."): w for n, w in weights.items()}
    return layer_norm(weights, "norm1", x + attention.oracle(inner, sizes, x))


def run_block(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """norm1(x + attention(x)), then norm2(that + ff(that))."""
    x = run_attention(weights, sizes, x)
    hidden = linear(weights, "ff.0", x).clamp(min=0)
    return layer_norm(weights, "norm2", x + linear(weights, "ff.2", hidden))


def before_relu(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """What goes into the ReLU, whose gradient jumps at 0."""
    return linear(weights, "ff.0", run_attention(weights, sizes, x))


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Attention without biases, two norms, a feed-forward of four times the width."""
    C = sizes.C
    return {
        **{f"attention.{name}.weight": (C, C) for name in LAYERS},
        **{f"norm{i}.{kind}": (C,) for i in (1, 2) for kind in ("weight", "bias")},
        "ff.0.weight": (4 * C, C),
        "ff.0.bias": (4 * C,),
        "ff.2.weight": (C, 4 * C),
        "ff.2.bias": (C,),
    }


def zero_queries(weights: Weights) -> Weights:
    """All queries zero."""
    name = "attention.to_queries.weight"
    return {**weights, name: weights[name] * 0}


contract = AttentionContract(
    entry="TransformerBlock",
    sizes=SIZES,
    arguments=attention.arguments,
    parameters=shapes,
    oracle=run_block,
    zero_queries=zero_queries,
    layout=WeightLayout(
        "to_queries", "to_keys", "to_values", output="unify_heads", heads=True, block=True
    ),
    kinks=before_relu,
    around_one=("norm1.weight", "norm2.weight"),
    inner=attention,
)
NO_ATTENTION = ("attention.unify_heads.weight",)
NO_FEED_FORWARD = ("ff.2.weight", "ff.2.bias")


def expect_block(harness: Harness, *silent: str, **weights: Tensor) -> None:
    """The output is right when some parameters are zero."""
    drawn = harness.weights(harness.sizes)
    zeros = {name: drawn[name] * 0 for name in silent}
    call = harness.module(weights={**drawn, **zeros, **weights}).call(harness.inputs())
    harness.ask()
    expect_close(call.out, call.expected)


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """The block passes both numbers to its attention, which refuses them."""
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7)):
        claims.constructor_raises(harness, "ValueError", embed_dim=C, num_heads=H)
        claims.constructor_raises(harness.of(attention), "ValueError", embed_dim=C, num_heads=H)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula


@points(2)
def test_attention_alone_matches_its_formula(harness: Harness) -> None:
    """The block is only as right as the attention inside, which exercise5 checks in detail."""
    claims.matches_the_formula(harness.of(attention))


@points(2)
def test_each_norm_comes_after_its_sum(harness: Harness) -> None:
    """With both sublayers silent, norm2(norm1(x)) is left: two residuals, post-norm."""
    expect_block(harness, *NO_ATTENTION, *NO_FEED_FORWARD)


@points(2)
def test_the_two_norms_have_their_own_weights(harness: Harness) -> None:
    """A norm used twice cannot learn two things."""
    C = harness.sizes.C
    numbers = {"norm1.weight": 1.0, "norm1.bias": 0.0}
    plain = {n: torch.full((C,), value) for n, value in numbers.items()}
    expect_block(harness, *NO_ATTENTION, *NO_FEED_FORWARD, **plain)


@points(2)
def test_attention_reaches_the_first_sum(harness: Harness) -> None:
    """With the feed-forward silent, x + attention(x) is what is normed."""
    expect_block(harness, *NO_FEED_FORWARD)


@points(2)
def test_feed_forward_has_a_relu_between_its_layers(harness: Harness) -> None:
    """With the attention silent: two linear layers alone are one, and a ReLU at the end loses half.

    The second sum starts from the first norm's output, not from x.
    """
    expect_block(harness, *NO_ATTENTION)
    wide = harness.weights(harness.sizes)["ff.0.weight"] * 6  # a ReLU has no ceiling
    expect_block(harness, *NO_ATTENTION, **{"ff.0.weight": wide})


test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_large_scores_stay_finite = attention_claims.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention_claims.is_pinned_to_no_device
