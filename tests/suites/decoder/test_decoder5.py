"""decoder5: queries in groups."""

from dataclasses import replace

import torch
from torch import Tensor

from grader.attention import (
    AttentionContract,
    attention_map,
    causal_mask,
    merge_heads,
    split_heads,
    values_of_heads,
)
from grader.attention import claims as attention
from grader.suite import Harness, Sizes, Weights, claims, expect_close, linear, points
from grader.suite.claims.memory import makes_no_copies

# At these, what is copied for every head is told from all else that is made. What all heads mix at
# the first position, which sees itself alone, is the same and little: T is more than 8·H/G.
# With D below H/G, or far above: a row's sum, held for each feature, is told from a copy.
COPIED = (
    (Sizes(B=2, T=43, C=24, H=8, G=2), torch.float32),
    (Sizes(B=1, T=37, C=12, H=6, G=2), torch.float64),  # two numbers may be the same by chance
    (Sizes(B=1, T=37, C=18, H=9, G=3), torch.float32),
    (Sizes(B=1, T=131, C=8, H=4, G=1), torch.float32),
    (Sizes(B=2, T=37, C=12, H=4, G=1), torch.float64),  # with B = 1 a matmul need not copy
    (Sizes(B=1, T=37, C=96, H=4, G=2), torch.float64),
)


def keys_and_values(weights: Weights, sizes: Sizes, x: Tensor) -> tuple[Tensor, Tensor]:
    """Those of each query head, (B, H, T, D)."""
    each = sizes.H // sizes.G
    k, v = (split_heads(linear(weights, name, x), sizes.G) for name in ("k_proj", "v_proj"))
    return k.repeat_interleave(each, dim=1), v.repeat_interleave(each, dim=1)


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v over the past, concatenated, then o_proj."""
    q = split_heads(linear(weights, "q_proj", x), sizes.H)
    k, v = keys_and_values(weights, sizes, x)
    past = causal_mask(sizes)
    mixed = attention_map(q, k, q.size(-1) ** -0.5, past) @ v
    return linear(weights, "o_proj", merge_heads(mixed))


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Keys and values have G heads of the size of the queries'."""
    C, few = sizes.C, sizes.C // sizes.H * sizes.G
    widths = {"q_proj": C, "k_proj": few, "v_proj": few, "o_proj": C}
    return {f"{name}.weight": (width, C) for name, width in widths.items()}


contract = AttentionContract(
    entry="GroupedQueryAttention",
    sizes=(
        Sizes(B=2, T=7, C=30, H=6, G=2),
        Sizes(B=3, T=5, C=14, H=2, G=1),
        Sizes(B=2, T=3, C=33, H=3, G=3),
        Sizes(B=3, T=5, C=7, H=1, G=1),
        Sizes(B=2, T=3, C=6, H=6, G=3),
    ),
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H, "num_groups": sizes.G},
    parameters=shapes,
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
)
one_group = replace(contract, sizes=(Sizes(B=3, T=5, C=28, H=4, G=1),), tried=False)
GROUPED = (
    Sizes(B=2, T=7, C=30, H=6, G=2),
    *(
        Sizes(B=2, T=5, C=H * D, H=H, G=G)
        for D, H, G in ((3, 12, 4), (5, 8, 2), (3, 8, 4), (3, 9, 3), (2, 6, 3), (2, 32, 8))
    ),
)

test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_keys_and_values_have_a_head_for_each_group(harness: Harness) -> None:
    """That is the point of groups: all that a cache would hold is H/G times smaller."""
    modules = [harness.module(sizes) for sizes in harness.contract.sizes]
    harness.ask()
    for module in modules:
        module.expect_fit()


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are split into H heads of equal size, or not at all."""
    numbers = ("embed_dim", "num_heads")
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7)):
        given = {"embed_dim": C, "num_heads": H, "num_groups": 1}
        claims.constructor_raises(harness, "ValueError", numbers, **given)


@points(1)
def test_groups_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """H heads are split into G groups of equal size; there are no more groups than heads."""
    numbers = ("num_heads", "num_groups")
    for C, H, G in ((30, 6, 4), (24, 8, 3), (20, 10, 4), (28, 4, 8), (18, 2, 9)):
        given = {"embed_dim": C, "num_heads": H, "num_groups": G}
        claims.constructor_raises(harness, "ValueError", numbers, **given)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(3)
def test_consecutive_heads_share_a_group(harness: Harness) -> None:
    """Changing a key and value head changes only the features of the H/G heads in its group."""
    planned = []
    for sizes in GROUPED:
        D, wide = sizes.C // sizes.H, sizes.C // sizes.G  # of a head, of a group
        eye = {"o_proj.weight": torch.eye(sizes.C)}
        module, inputs = harness.module(sizes).set(eye), harness.inputs(sizes)
        before = module.call(inputs)
        for name in ("k_proj.weight", "v_proj.weight"):
            other = module.weights[name].clone()
            other[D : 2 * D] = harness.weights(sizes)[name][D : 2 * D]
            after = harness.module(sizes, {**module.weights, name: other}).call(inputs)
            planned.append((wide, before, after))
    harness.ask()
    for wide, before, after in planned:
        for others in (slice(0, wide), slice(2 * wide, None)):
            new, old = after.out[..., others], before.out[..., others]
            expect_close(new, old.double(), "features of the heads of other groups")
        own = slice(wide, 2 * wide)
        new, right = after.out[..., own], after.expected[..., own]
        expect_close(new, right, "features of the heads of a group, without o_proj")


@points(2)
def test_one_group_serves_all_heads(harness: Harness) -> None:
    """With one key head, the heads differ only in their queries."""
    call = harness.of(one_group).module().call(harness.of(one_group).inputs())
    harness.ask()
    expect_close(call.out, call.expected, "output at G = 1")


@points(2)
def test_as_many_groups_as_heads_is_multi_head(harness: Harness) -> None:
    """One key head per head, the same within a group, changes nothing else."""
    planned = []
    for sizes in GROUPED:
        each, D = sizes.H // sizes.G, sizes.C // sizes.H
        module, inputs = harness.module(sizes), harness.inputs(sizes)
        grown = {
            name: module.weights[name].unflatten(0, (-1, D)).repeat_interleave(each, 0)
            for name in ("k_proj.weight", "v_proj.weight")
        }
        grown = {name: weight.flatten(0, 1) for name, weight in grown.items()}
        whole = harness.module(sizes.replace(G=sizes.H), {**module.weights, **grown})
        planned.append((module.call(inputs), whole.call(inputs)))
    harness.ask()
    for grouped, multi in planned:
        expect_close(multi.out, grouped.out.double(), "output with a key head for each head")
        expect_close(multi.out, multi.expected, "output with a key head for each head")


@points(3)
def test_keys_and_values_are_not_copied(harness: Harness) -> None:
    """A copy for each head costs what the groups were meant to save."""
    makes_no_copies(
        harness,
        "keys and values",
        COPIED,
        numbers=lambda sizes: sizes.B * sizes.T * sizes.C // sizes.H * sizes.G,
        times=lambda sizes: sizes.H // sizes.G,
    )


test_o_proj_mixes_the_concatenated_heads = attention.output_mixes_the_heads("o_proj")
test_without_queries_each_position_has_the_mean_of_its_past = (
    attention.attends_all_alike_without_queries
)
test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient
test_batch_items_are_independent = claims.batch_items_are_independent
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence_from_its_start
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
