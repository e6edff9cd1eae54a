"""decoder4: ALiBi."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.attention import AttentionContract, merge_heads, split_heads, values_of_heads
from grader.attention import claims as attention
from grader.suite import (
    Harness,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_gradient,
    linear,
    points,
)
from grader.suite.claims.devices import expect_on_any_device
from grader.suite.compare import expect_tensor
from grader.suite.modules import Module

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
OTHERS = sorted({*range(3, 131)} - {*POWERS})
ROUNDED = 1e-7  # float32 slopes may be off by, relative to 1
LONG = 2053  # positions
BEYOND = 1e-3  # rounding there, of slope·s as well, in outputs and gradients
COARSE = 0.03  # rounding in bfloat16 where nothing is computed but the weights and the mixture


def slopes_of(heads: int) -> list[float]:
    """Those of a power of two; else of the next lower one, and every second of the next higher."""
    power = 1
    while 2 * power <= heads:
        power *= 2
    own = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    return own if power == heads else own + slopes_of(2 * power)[::2][: heads - power]


def biases(sizes: Sizes) -> Tensor:
    """-slope·(t - s) for s ≤ t, (H, T, T), float64; what is still to come is hidden."""
    slopes = torch.tensor(slopes_of(sizes.H), dtype=torch.float64)
    positions = torch.arange(sizes.T, dtype=torch.float64)
    distance = positions[:, None] - positions
    return (-slopes[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Heads of softmax(q·kᵀ/√D + biases)·v, concatenated, then o_proj."""
    q, k, v = (split_heads(linear(weights, name, x), sizes.H) for name in LAYERS[:3])
    scores = q @ k.mT * q.size(-1) ** -0.5 + biases(sizes).to(x.dtype)
    return linear(weights, "o_proj", merge_heads(scores.softmax(-1) @ v))


def zero_queries(weights: Weights) -> Weights:
    """All queries zero: the scores are the biases."""
    return {**weights, "q_proj.weight": weights["q_proj.weight"] * 0}


contract = AttentionContract(
    entry="AlibiSelfAttention",
    sizes=(
        Sizes(B=2, T=7, C=15, H=3),
        Sizes(B=3, T=5, C=7, H=1),
        Sizes(B=2, T=11, C=24, H=12),
        Sizes(B=3, T=3, C=10, H=5),
    ),
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H},
    parameters=lambda sizes: {f"{name}.weight": (sizes.C, sizes.C) for name in LAYERS},
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    biases=biases,
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=zero_queries,
    # Biases may be float32 in any dtype, and slope·s does what -slope·(t - s) does.
    extra_tolerance=lambda x: ROUNDED * (x.size(-2) - 1),
)


def module_of_biases(harness: Harness, sizes: Sizes) -> Module:
    """A module whose scores are its biases, and which gives back what it mixes."""
    plain = torch.eye(sizes.C)
    weights = {**harness.weights(sizes), "v_proj.weight": plain, "o_proj.weight": plain}
    return harness.module(sizes, zero_queries(weights))


def expect_slopes(harness: Harness, *counts: int) -> None:
    """The slopes of so many heads, each to the last digits of float32."""
    given = [((count,), {}) for count in counts] + [((), {"num_heads": counts[-1]})]
    calls = harness.batch.call("alibi_slopes", given)
    harness.ask()
    for place, count in enumerate((*counts, counts[-1])):
        what = f"slopes of {count} heads" if count > 1 else "slope of one head"
        got = expect_tensor(calls.result(place), (count,), what, "(H,)")
        kind = str(got.dtype).removeprefix("torch.")
        expect(got.dtype == torch.float32, f"{what}: expected dtype float32, got {kind}")
        right = torch.tensor(slopes_of(count), dtype=torch.float64)
        expect_close(got, right, what)
        expect_close(got.double().cpu() / right, right / right, f"{what}, as ratios", 2e-5)


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_state_holds_nothing_but_the_parameters(harness: Harness) -> None:
    """Slopes follow from the number of heads: saved, they get in every checkpoint's way."""
    batch, states = harness.batch, []
    for used in (False, True):
        with batch.apart():  # a call that fails is for other checks
            module = harness.module(weights={})
            if used:
                module.call(harness.inputs())
            assert module.made is not None
            states.append((module.made, batch.call(module.made, [((), {})], method="state_dict")))
    harness.ask()
    answered = [s for s in states if not isinstance(s[1].answer_or_error, Exception)]
    for made, state in answered or states:
        extra = [name for name in state.result() if name not in made.parameters]
        expect(not extra, f"`state_dict()`: expected only parameters, got `{''.join(extra[:1])}`")


test_heads_that_do_not_divide_are_a_value_error = attention.refuses_heads_that_do_not_divide


@points(2)
def test_slopes_of_a_power_of_two_fall_geometrically(harness: Harness) -> None:
    """From 2^(-8/H) to 2^-8: some heads look nearby, some far back."""
    expect_slopes(harness, *POWERS)


@points(2)
def test_slopes_of_other_numbers_of_heads(harness: Harness) -> None:
    """Those of the next lower power of two, and some of the next higher in between."""
    expect_slopes(harness, *OTHERS, *(harness.draw.integer(131, 400) for _ in range(2)))


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(3)
def test_biases_are_slopes_times_distances(harness: Harness) -> None:
    """With all queries at zero, each head's features are what its biases alone make of the past."""
    counts = (*range(1, 17), harness.draw.integer(17, 47))
    every = [Sizes(B=2, T=11, C=3 * H, H=H) for H in counts] + [Sizes(B=2, T=17, C=64, H=4)]
    calls = [module_of_biases(harness, sizes).call(harness.inputs(sizes)) for sizes in every]
    harness.ask()
    for call in calls:
        heads = call.sizes.H
        both = zip(call.out.chunk(heads, -1), call.expected.chunk(heads, -1), strict=True)
        for place, (block, right) in enumerate(both, 1):
            expect_close(block, right, f"features of head {place} of {heads} at zero queries")


test_o_proj_mixes_the_merged_heads = attention.output_mixes_the_heads("o_proj")
test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient
test_long_sequence = claims.handles_a_long_sequence_from_its_start


@points(2)
def test_longer_than_anything_before(harness: Harness) -> None:
    """Far tokens count for little, nothing more: no table ends, whatever came before."""
    one, two = Sizes(B=1, T=7, C=3, H=1), Sizes(B=1, T=7, C=10, H=2)
    some = harness.within_reach(one.replace(T=harness.draw.integer(513, 600)), 3)
    drawn = harness.within_reach(two.replace(T=harness.draw.integer(300, 600)), 2, learns=True)
    calls, batch = [], harness.batch
    for first, long in (
        (one, some),
        (two, drawn),
        (one, harness.within_reach(one.replace(T=LONG))),
    ):
        with batch.apart():  # so that a diagnosis need not go through the longest each time
            module = harness.module(first)
            calls += module.calls([harness.inputs(sizes) for sizes in (first, long, first)])
    x, grad_output = (harness.draw.normal(*drawn.shape("B T C")).double() for _ in range(2))
    with batch.apart():
        learning = harness.module(drawn).train().to(torch.float64)
        trained = learning.call({"x": x}, grad_output=grad_output)
    harness.ask_for([*calls, trained])
    for call in (*calls, trained):
        expect_close(call.out, call.expected, f"output at T = {call.sizes.T}", BEYOND)
    for name, right in trained.right_gradients.items():
        got = expect_gradient(trained.gradients[name], name)
        expect_close(got, right, f"gradient of {name} at T = {drawn.T}", BEYOND)


@points(2)
def test_distances_are_exact_in_bfloat16(harness: Harness) -> None:
    """Above 256, bfloat16 has only every second integer, and above 512 every fourth."""
    sizes = Sizes(B=1, T=harness.draw.integer(520, 640), C=8, H=4)
    x, module = harness.input("x", sizes), module_of_biases(harness, sizes).to(torch.bfloat16)
    call = module.call({"x": x.bfloat16()})
    after = module.to(torch.float32).call({"x": x})
    harness.ask_for([call, after])
    expect_close(call.out, call.expected, f"output in bfloat16 at T = {sizes.T}", COARSE)
    expect_close(after.out, after.expected, "output in float32 after bfloat16", BEYOND)


test_batch_items_are_independent = claims.batch_items_are_independent
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_non_contiguous_input = claims.handles_non_contiguous_input


@points(1)
def test_computes_in_float64(harness: Harness) -> None:
    """No cast to lower precision: where biases are small, so is the error of float32 slopes."""
    sizes = Sizes(B=31, T=3, C=16, H=1)  # √16 is exact in every dtype
    call = harness.module(sizes).to(torch.float64).call({"x": harness.input("x", sizes).double()})
    harness.ask()
    claims.computes_in_float64(harness)
    if float((call.out.detach().cpu() - call.expected).abs().max()) < 1e-4:
        expect_close(call.out, call.expected, "output in float64", 5e-9)


test_computes_in_bfloat16 = claims.computes_in_bfloat16


@points(1)
def test_no_tensor_is_pinned_to_a_device(harness: Harness) -> None:
    """Slopes made without `device=` stay on the CPU: of a power of two, or of other numbers."""
    attention.is_pinned_to_no_device(harness)
    four = harness.of(replace(contract, sizes=(harness.sizes.replace(C=20, H=4),)))
    expect_on_any_device(four, four.every_input())
