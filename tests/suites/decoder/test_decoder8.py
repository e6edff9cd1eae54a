"""decoder8: a pre-norm decoder block."""

from dataclasses import replace
from math import sqrt

import torch
from torch import Tensor

from grader.attention import (
    AttentionContract,
    attention_map,
    merge_heads,
    split_heads,
    values_of_heads,
)
from grader.attention import claims as attention_claims
from grader.suite import (
    Contract,
    Harness,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_finite,
    expect_gradient,
    includes,
    linear,
    points,
)
from grader.suite.compare import expect_tensor
from grader.suite.oracle import rms_norm, under

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
EPS, LARGER_EPS = 1e-6, 0.3
LARGE = 3000  # times as large are queries and keys, whose scores go up to some 1e7
HALF = 0.505  # a step of bfloat16, and what float32 is off by
MOST_STEPS = 32  # of bfloat16 that a value is off by where only digits were lost


def fitting(sizes: Sizes) -> Sizes:
    """With features inside the feed-forward, from one up to three times those outside."""
    return sizes.replace(F=1 + (7 * sizes.C + 5 * sizes.T) % (3 * sizes.C))


def fitting_block(sizes: Sizes) -> Sizes:
    """With three features or more: one comes out of a norm as a sign, which rounding may decide."""
    return fitting(sizes if sizes.C > 2 else sizes.replace(C=3 * sizes.H))


def rounded_eps(x: Tensor) -> float:
    """Its eps may be a tensor, of float32."""
    return 5e-9


def feed_forward(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """down(silu(gate(x)) · up(x))."""
    gate = linear(weights, "gate_proj", x)
    hidden = gate * torch.sigmoid(gate) * linear(weights, "up_proj", x)
    return linear(weights, "down_proj", hidden)


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v over the past, concatenated, then o_proj."""
    q, k, v = (split_heads(linear(weights, name, x), sizes.H) for name in PROJECTIONS[:3])
    past = torch.ones(sizes.T, sizes.T).tril()
    shares = attention_map(q, k, 1 / sqrt(q.size(-1)), past)
    return linear(weights, "o_proj", merge_heads(shares @ v))


def of_feed_forward(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Three weights."""
    C, F = sizes.C, sizes.F
    return {"gate_proj.weight": (F, C), "up_proj.weight": (F, C), "down_proj.weight": (C, F)}


def of_block(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Two norms, attention, a feed-forward."""
    return {
        "attention_norm.weight": (sizes.C,),
        **{f"attention.{name}.weight": (sizes.C, sizes.C) for name in PROJECTIONS},
        "ffn_norm.weight": (sizes.C,),
        **{f"ffn.{name}": shape for name, shape in of_feed_forward(sizes).items()},
    }


def norm_with(eps: float | None) -> Contract:
    """RMSNorm with an eps, or without."""
    return Contract(
        entry="RMSNorm",
        sizes=(Sizes(B=2, T=7, C=13), Sizes(B=3, T=5, C=7), Sizes(B=0, T=5, C=11)),
        arguments=lambda sizes: {"dim": sizes.C, "eps": eps},
        default_arguments={"eps": EPS},
        parameters=lambda sizes: {"weight": (sizes.C,)},
        around_one=("weight",),
        oracle=lambda weights, sizes, x: rms_norm(weights, x, eps or EPS),
        extra_tolerance=rounded_eps,
        unbatched=True,
        is_exact=lambda sizes: True,
        tried=False,
    )


def block_with(eps: float | None) -> AttentionContract:
    """The block with an eps, or without."""

    def run(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
        """Attention of the normed input is added, then the feed-forward of the normed sum."""
        normed = rms_norm(under("attention_norm", weights), x, eps or EPS)
        h = x + attend(under("attention", weights), sizes, normed)
        normed = rms_norm(under("ffn_norm", weights), h, eps or EPS)
        return h + feed_forward(under("ffn", weights), sizes, normed)

    return AttentionContract(
        entry="DecoderBlock",
        sizes=(
            Sizes(B=2, T=7, C=15, H=3, F=11),
            Sizes(B=3, T=5, C=7, H=1, F=17),
            Sizes(B=2, T=3, C=14, H=2, F=5),
        ),
        arguments=lambda sizes: {
            "embed_dim": sizes.C, "num_heads": sizes.H, "hidden_dim": sizes.F, "eps": eps
        },
        default_arguments={"eps": EPS},
        parameters=of_block,
        around_one=("attention_norm.weight", "ffn_norm.weight"),
        oracle=run,
        zero_queries=lambda weights: {
            **weights, "attention.q_proj.weight": weights["attention.q_proj.weight"] * 0
        },
        extra_tolerance=rounded_eps,
        fit=fitting_block,
    )  # fmt: skip


attention = AttentionContract(
    entry="CausalSelfAttention",
    sizes=(Sizes(B=2, T=7, C=15, H=3), Sizes(B=3, T=5, C=7, H=1), Sizes(B=2, T=3, C=14, H=2)),
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H},
    parameters=lambda sizes: {f"{name}.weight": (sizes.C, sizes.C) for name in PROJECTIONS},
    oracle=attend,
    scale=lambda sizes: sqrt(sizes.H / sizes.C),
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
    tried=False,
)
ffn = Contract(
    entry="SwiGLU",
    sizes=(Sizes(B=2, T=7, C=13, F=5), Sizes(B=3, T=5, C=7, F=17), Sizes(B=0, T=5, C=11, F=3)),
    arguments=lambda sizes: {"dim": sizes.C, "hidden_dim": sizes.F},
    parameters=of_feed_forward,
    oracle=feed_forward,
    fit=fitting,
    unbatched=True,
    is_exact=lambda sizes: True,
    tried=False,
)
plain_norm, loose_norm = norm_with(None), norm_with(LARGER_EPS)
norms = replace(plain_norm, variants={"eps left out": plain_norm, "another eps": loose_norm})
plain, loose = block_with(None), block_with(LARGER_EPS)
contract = replace(
    plain,
    variants={"eps left out": plain, "another eps": loose},
    inner=attention,
    parts=(norms, ffn),
)
NO_ATTENTION = ("attention.o_proj.weight",)
NO_FEED_FORWARD = ("ffn.down_proj.weight",)


def expect_block(harness: Harness, *silent: str, **weights: Tensor) -> None:
    """The output is right when some parameters are zero."""
    drawn = harness.weights(harness.sizes)
    zeros = {name: drawn[name] * 0 for name in silent}
    call = harness.module(weights={**drawn, **zeros, **weights}).call(harness.inputs())
    harness.ask()
    expect_close(call.out, call.expected)


@points(1)
@includes(claims.has_its_parameters)
def test_parameters_are_those_of_the_contract(harness: Harness) -> None:
    """A parameter that is not registered is never trained or saved, in the block or alone."""
    claims.has_its_parameters(harness)
    for part in (plain_norm, ffn, attention):
        claims.has_its_parameters(harness.of(part))


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """The block passes both numbers to its attention, which refuses them."""
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7)):
        claims.constructor_raises(harness.of(attention), "ValueError", embed_dim=C, num_heads=H)
        arguments = {"embed_dim": C, "num_heads": H, "hidden_dim": C}
        claims.constructor_raises(harness, "ValueError", **arguments)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula


def expect_of_any_shape(harness: Harness, part: Contract) -> None:
    """What comes of a single vector, and of vectors in more axes, comes of them in a batch."""
    one = harness.of(part)
    module, x = one.module(), one.draw.normal(2, 3, 4, one.sizes.C)
    usual = module.call({"x": x.flatten(0, 1)})
    given = (x, x[1, 2, 3])
    others = one.batch.call(module.made, [((each,), {}) for each in given])
    one.ask()
    every = usual.out.reshape(x.shape)
    for place, right in enumerate((every, every[1, 2, 3])):
        shape = tuple(right.shape)
        out = expect_tensor(others.result(place), shape, "output", "the input's")
        expect_close(out, right.double(), f"output for an input of shape {shape}")


@points(2)
def test_norm_alone_matches_its_formula(harness: Harness) -> None:
    """Each vector is divided by one number: no mean is subtracted, no other vector matters."""
    one = harness.of(plain_norm)
    claims.matches_the_formula(one)
    inputs = one.inputs()
    same = {"x": inputs["x"][..., :1].expand(inputs["x"].shape).contiguous()}
    call = one.module().call(same)
    one.ask()
    expect_close(call.out, call.expected, "output for vectors whose features are all alike")
    expect_of_any_shape(harness, plain_norm)


@points(2)
def test_eps_is_added_inside_the_root(harness: Harness) -> None:
    """Where eps is added shows only when the mean square is about as small as eps."""
    calls = []
    for of in (plain_norm, loose_norm):
        one = harness.of(of)
        x = one.input("x")
        calls += [one.module().call({"x": x * small}) for small in (1e-1, 1e-3, 1e-4)]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "output of the norm for small vectors")


@points(2)
def test_zeros_stay_finite(harness: Harness) -> None:
    """A padded position is a vector of zeros: it gives zeros, and its gradient is finite."""
    calls = []
    for of in (plain_norm, plain):
        one = harness.of(of)
        x = one.input("x")
        x[:, 0] = 0
        calls.append(one.module().call({"x": x}, grad_output=torch.ones_like(x)))
    harness.ask()
    for call in calls:
        expect_finite(call.out, f"`{call.contract.entry}` for a vector of zeros")
        for name, right in call.right_gradients.items():
            grad = expect_gradient(call.gradients[name], name)
            expect_close(grad, right, f"gradient of {name}", 1e-4)
    expect_close(calls[0].out, calls[0].expected, "output of the norm for zeros")


@points(2)
def test_norm_is_computed_in_float32_for_bfloat16(harness: Harness) -> None:
    """Rounded once, each value is the nearest in bfloat16; otherwise the mean has only 8 bits."""
    one, draw = harness.of(plain_norm), harness.draw
    calls = []
    for C in (draw.integer(2, 4), draw.integer(5, 40), draw.integer(100, 300), 1031):
        sizes = Sizes(B=2, T=31, C=C)
        x = one.input("x", sizes) * draw.normal(2, sizes.T, 1).mul(2).exp2()
        weight = draw.normal(C).round().exp2()  # by which nothing is rounded once more
        module = one.module(sizes, {"weight": weight}).to(torch.bfloat16)
        calls += [module.train(mode).call({"x": x.bfloat16()}) for mode in (False, True)]
    harness.ask()
    for call in calls:
        right = call.expected
        steps = (call.out.double().cpu() - right).abs() / right.abs().log2().floor().sub(7).exp2()
        far = int((steps > HALF).sum())
        is_rounding = bool((steps < MOST_STEPS).all())
        why = "; what the vectors are divided by has lost digits" if is_rounding else ""
        expect(
            far == 0,
            f"{far} of {right.numel()} values are not the nearest in bfloat16 at {call.sizes}{why}",
        )


@points(2)
def test_feed_forward_alone_matches_its_formula(harness: Harness) -> None:
    """Three layers, and one silu between them."""
    claims.matches_the_formula(harness.of(ffn))
    expect_of_any_shape(harness, ffn)


@points(2)
def test_silu_is_taken_of_the_gate_not_of_what_it_lets_through(harness: Harness) -> None:
    """What up_proj gives passes through unchanged: doubling it doubles the output."""
    one = harness.of(ffn)
    weights, inputs = one.weights(one.sizes), one.inputs()
    twice = {**weights, "up_proj.weight": weights["up_proj.weight"] * 2}
    before, after = (one.module(weights=given).call(inputs) for given in (weights, twice))
    harness.ask()
    expect_close(after.out, before.out.double() * 2, "output for an up_proj of twice the weight")


@points(2)
def test_attention_alone_matches_its_formula(harness: Harness) -> None:
    """The block is only as right as the attention inside."""
    claims.matches_the_formula(harness.of(attention))


@points(2)
def test_scores_are_divided_by_the_root_of_the_head_size(harness: Harness) -> None:
    """A head sums D terms, not C."""
    attention_claims.scores_are_scaled(harness.of(attention))


@points(1)
def test_future_stays_hidden_at_large_scores(harness: Harness) -> None:
    """The first position sees itself alone, however far its score is below all others."""
    one = harness.of(attention)
    weights = one.weights(one.sizes)
    weights = {n: w * (LARGE if n[0] in "qk" else 1) for n, w in weights.items()}
    calls = one.module(weights=weights).calls([one.inputs() for _ in range(4)])
    harness.ask()
    for call in calls:
        expect_close(call.out[:, 0], call.expected[:, 0], "output of the first position")


test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient


@points(2)
def test_what_comes_in_reaches_the_output_as_it_is(harness: Harness) -> None:
    """With both sublayers silent, x is left: norms come before the sublayers, not after."""
    expect_block(harness, *NO_ATTENTION, *NO_FEED_FORWARD)


@points(2)
def test_attention_of_the_normed_input_is_added(harness: Harness) -> None:
    """With the feed-forward silent, h is left: the second sum starts from h, not from x."""
    expect_block(harness, *NO_FEED_FORWARD)


@points(2)
def test_feed_forward_of_the_normed_sum_is_added(harness: Harness) -> None:
    """With the attention silent, x + ffn(ffn_norm(x)) is left."""
    expect_block(harness, *NO_ATTENTION)


@points(2)
def test_the_two_norms_have_their_own_weights(harness: Harness) -> None:
    """A norm used twice cannot learn two things."""
    ones = torch.ones(harness.sizes.C)
    for name, silent in (("attention_norm", NO_FEED_FORWARD), ("ffn_norm", NO_ATTENTION)):
        expect_block(harness, *silent, **{f"{name}.weight": ones})


@points(1)
def test_eps_reaches_both_norms(harness: Harness) -> None:
    """The eps that the block is given is the one that its norms add."""
    for silent in (NO_FEED_FORWARD, NO_ATTENTION):
        expect_block(harness.of(loose), *silent)


test_batch_items_are_independent = claims.batch_items_are_independent
test_large_scores_stay_finite = attention_claims.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence_from_its_start
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention_claims.is_pinned_to_no_device
