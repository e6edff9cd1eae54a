"""decoder3: rotary positions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.attention import (
    AttentionContract,
    attention_map,
    merge_heads,
    split_heads,
    values_of_heads,
)
from grader.attention import claims as attention
from grader.attention.oracle import angles_left_to_rounding
from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect_close,
    expect_differs,
    includes,
    linear,
    points,
)

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
FAR = (290, 4100, 9001, 70_000)  # beyond 8 bits, and beyond tables of the usual lengths
FARTHEST = 100_000
SURE = 1000  # positions whose angles float32 knows to a ten thousandth
TURNED = 0.03  # in bfloat16: a turn is three roundings
EXACT = 1e-8  # in float64, at large angles


def turn(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn pair (i, i + D/2) by position · base^(-2i/D), in float32 at least."""
    half = x.size(-1) // 2
    wide = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** (-torch.arange(half, dtype=wide) / half)
    angles = (positions.to(wide)[..., None] * speeds).unsqueeze(-3)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def attend(weights: Weights, sizes: Sizes, x: Tensor, positions: Tensor | None = None) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v with q and k turned, concatenated, then o_proj."""
    q, k, v = (split_heads(linear(weights, name, x), sizes.H) for name in LAYERS[:3])
    positions = torch.arange(x.size(-2)) if positions is None else positions
    weight = attention_map(turn(q, positions), turn(k, positions), q.size(-1) ** -0.5)
    return linear(weights, "o_proj", merge_heads(weight @ v))


def left_to_rounding(x: Tensor, positions: Tensor | None = None) -> float:
    """Angles that float32 knows to a hundredth, scores in the thousands: any key may win."""
    far = positions is not None and bool(positions.abs().max() > SURE)
    large = x.dtype != torch.float64 and bool(x.detach().square().mean() > 2)
    if far and large:
        return float("inf")
    return 0.0 if positions is None else angles_left_to_rounding(x, positions)


def as_it_comes(draw: Draw, places: Tensor) -> Tensor:
    """The same positions, now and then in int32, now and then apart in memory."""
    places = places.to((torch.int64, torch.int32)[draw.integer(0, 1)])
    if draw.integer(0, 2):
        return places
    return torch.stack([places, places], dim=-1)[..., 0]


def counted(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """From 0 or from somewhere on, (T,)."""
    return as_it_comes(draw, torch.arange(shape[-1]) + max(draw.integer(-89, 90), 0))


def in_any_order(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """With gaps, (T,)."""
    return as_it_comes(draw, draw.permutation(shape[-1]) * draw.integer(1, 3))


def repeated(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """A few, again and again, (T,)."""
    few = draw.integer(1, 4)
    return as_it_comes(draw, (draw.permutation(shape[-1]) % few) * draw.integer(1, 9))


def below_zero(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """All of them or some, (T,)."""
    return as_it_comes(draw, draw.permutation(shape[-1]) - draw.integer(1, 300))


def far_away(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Where a table ends, or anywhere at all, (T,)."""
    if draw.integer(0, 1):
        anywhere = (draw.normal(shape[-1]).cpu() * FARTHEST / 2).long()
        return as_it_comes(draw, anywhere.clamp(-FARTHEST, FARTHEST))
    return as_it_comes(draw, draw.permutation(shape[-1]) * 3 + FAR[draw.integer(0, len(FAR) - 1)])


def of_each(kind: Callable[..., Tensor]) -> Callable[[Draw, tuple[int, ...], Sizes], Tensor]:
    """Each sequence has its own, (B, T)."""

    def drawn(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
        return as_it_comes(
            draw, torch.stack([kind(draw, shape, sizes).long() for _ in range(shape[0])])
        )

    return drawn


def some(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Of each sequence, in no order, (B, T)."""
    return torch.stack([draw.order(shape[-1]) * 3 + draw.integer(1, 9) for _ in range(shape[0])])


KINDS = {
    "counted from elsewhere": counted,
    "in any order": in_any_order,
    "repeated": repeated,
    "below 0": below_zero,
    "far away": far_away,
    "the same for each sequence": lambda draw, shape, sizes: in_any_order(
        draw, shape, sizes
    ).expand(shape),
    "of each sequence, counted from elsewhere": of_each(counted),
    "of each sequence, in any order": of_each(in_any_order),
    "of each sequence, far away": of_each(far_away),
}
POSITIONS = Input("B T", some, differentiable=False, kinds=KINDS)
plain = Contract(
    entry="rotate",
    sizes=(Sizes(B=2, H=3, T=5, D=6), Sizes(B=3, H=2, T=3, D=10), Sizes(B=3, H=3, T=7, D=2)),
    inputs={"x": Input("B H T D"), "positions": POSITIONS},
    outputs={"output": "B H T D"},
    oracle=lambda weights, sizes, x, positions: turn(x, positions),
    fit=lambda sizes: sizes.replace(D=sizes.D + sizes.D % 2),
    extra_tolerance=angles_left_to_rounding,
    tried=False,
)


def with_base(base: float) -> Contract:
    """Given another base than the one that is there by itself."""
    return replace(
        plain,
        arguments=lambda sizes: {"base": base},
        oracle=lambda weights, sizes, x, positions: turn(x, positions, base),
    )


slow, fast = with_base(500_000.0), with_base(100.0)
rotation = replace(
    plain,
    variants={"without a base": plain, "a base of 500 000": slow, "a base of 100": fast},
    tried=True,
)
contract = AttentionContract(
    entry="RotarySelfAttention",
    sizes=(
        Sizes(B=2, T=7, C=18, H=3),
        Sizes(B=3, T=5, C=10, H=1),
        Sizes(B=2, T=3, C=28, H=2),
        Sizes(B=3, T=2, C=10, H=5),
    ),
    inputs={"x": Input("B T C"), "positions": replace(POSITIONS, optional=True)},
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H},
    parameters=lambda sizes: {f"{name}.weight": (sizes.C, sizes.C) for name in LAYERS},
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
    extra_tolerance=left_to_rounding,
    fit=lambda sizes: sizes.replace(C=sizes.C + sizes.C // sizes.H % 2 * sizes.H),
)
# Positions that go with the tokens, wherever a claim moves or repeats these.
placed = replace(
    contract,
    inputs={"x": Input("B T C"), "positions": replace(POSITIONS, optional=False)},
    tried=False,
)
OF_ROTATE = (
    claims.keeps_shape_and_dtype,
    claims.matches_the_formula,
    claims.input_gradient_is_right,
    claims.changes_no_input,
    claims.remembers_nothing,
    claims.computes_in_float64,
)


def of_rotate(claim: Any, worth: int = 1) -> Callable[[Harness], None]:
    """A claim of `rotate` alone, which is told of nothing but what these claims are about."""

    def check(harness: Harness) -> None:
        claim(harness.of(rotation, frozenset(one.__name__ for one in OF_ROTATE)))

    check.__doc__ = claim.__doc__
    return points(worth)(check)


def of_placed(claim: Any) -> Callable[[Harness], None]:
    """A claim whose tokens take their positions with them."""

    def check(harness: Harness) -> None:
        claim(harness.of(placed))

    check.__doc__ = claim.__doc__
    return points(1)(check)


test_parameters_are_those_of_the_contract = claims.has_its_parameters
test_rotate_keeps_shape_dtype_and_device = of_rotate(claims.keeps_shape_and_dtype)
test_rotate_matches_its_formula = of_rotate(claims.matches_the_formula, worth=3)


@points(2)
def test_rotate_pairs_the_two_halves(harness: Harness) -> None:
    """A single feature is rotated into its partner, D/2 further on, and into nothing else."""
    one = harness.of(plain)
    sizes = one.sizes
    alone = torch.eye(sizes.D).expand(sizes.B, sizes.H, -1, -1)
    places = torch.full((sizes.D,), 2)
    call = one.module().call({"x": alone, "positions": places})
    harness.ask()
    kept = torch.eye(sizes.D).roll(sizes.D // 2, 0) + torch.eye(sizes.D)
    got = call.out.cpu()
    expect_close(got * (1 - kept), (got * 0).double(), "what a single feature gives to others")
    expect_close(got, call.expected, "what single features are turned into")


@points(2)
def test_rotate_takes_its_base(harness: Harness) -> None:
    """The larger the base, the slower the last pair turns; it need not be a whole number."""
    powers = (harness.draw.integer(low, low + 198) / 100 for low in (1, 201, 401))
    every = (plain, slow, fast, *(with_base(10**power) for power in powers))
    calls, exact = [], []
    for one in map(harness.of, every):
        inputs = one.inputs()
        calls.append(one.module().call(inputs))
        far = {"x": inputs["x"].double(), "positions": inputs["positions"] + FAR[1]}
        exact.append(one.module().call(far))
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected)
    for call in exact:
        expect_close(call.out, call.expected, "output in float64", EXACT)


@points(2)
def test_rotate_sees_no_place_but_positions(harness: Harness) -> None:
    """A token elsewhere in the row, at the same position, is rotated the same way."""
    claims.follows_a_permutation(harness.of(plain))


@points(2)
def test_each_sequence_has_its_own_positions(harness: Harness) -> None:
    """Also with as many sequences as tokens or heads, where axes are easily mixed up."""
    rotate, whole = harness.of(plain), harness.of(placed)
    calls = []
    for one, sizes in (
        (rotate, Sizes(B=5, H=5, T=5, D=10)),
        (rotate, Sizes(B=5, H=3, T=5, D=6)),
        (whole, Sizes(B=5, T=5, C=30, H=5)),
        (whole, Sizes(B=19, T=3, C=12, H=2)),
    ):
        inputs = one.inputs(sizes)
        shared = {**inputs, "positions": inputs["positions"][0]}
        calls += one.module(sizes).calls([inputs, shared])
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected)


@points(2)
def test_products_see_only_differences(harness: Harness) -> None:
    """If all positions move by the same number, every query-key product stays the same."""
    one = harness.of(plain)
    queries, keys = one.inputs(), one.inputs()
    module, calls = one.module(), []
    for by in (0, 11):
        moved = queries["positions"] + by
        calls.append(module.calls([{**each, "positions": moved} for each in (queries, keys)]))
    harness.ask()
    first, second = (q.out.double() @ k.out.double().mT for q, k in calls)
    expect_close(second, first, "products of queries and keys", 1e-4)
    expect_differs(calls[1][0].out, calls[0][0].out, "the output at other positions")


@points(1)
def test_odd_head_size_is_a_value_error(harness: Harness) -> None:
    """A feature without a partner cannot be rotated."""
    for D in (5, 1, 13):
        inputs = harness.of(plain).inputs(plain.sizes[0].replace(D=D))
        claims.call_raises(harness.of(plain), "ValueError", inputs, D)


@points(2)
def test_angles_are_float32_for_bfloat16(harness: Harness) -> None:
    """bfloat16 counts 256, 258, 260: its angles are off by a radian or more."""
    calls = []
    for one in (harness.of(plain), harness.of(placed)):
        for far in FAR[:2]:
            inputs = one.inputs()
            inputs = {"x": inputs["x"].bfloat16(), "positions": inputs["positions"] + far}
            calls.append(one.module().to(torch.bfloat16).call(inputs))
    harness.ask()
    for call in calls:
        tolerance = TURNED if call.contract is plain else None
        expect_close(call.out, call.expected, "output in bfloat16", tolerance)


test_rotate_computes_in_float64 = of_rotate(claims.computes_in_float64)
test_rotate_passes_gradients_on = of_rotate(claims.input_gradient_is_right)
test_rotate_changes_no_input = of_rotate(claims.changes_no_input)
test_rotate_remembers_nothing = of_rotate(claims.remembers_nothing)


@points(1)
def test_rotate_is_pinned_to_no_device(harness: Harness) -> None:
    """A table that stays on the CPU cannot be used with an input on a GPU."""
    claims.is_pinned_to_no_device(harness.of(plain))


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are split into H heads of the same even size, or not at all."""
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7), (15, 3), (12, 4), (7, 1)):
        claims.constructor_raises(harness, "ValueError", embed_dim=C, num_heads=H)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_matches_at_given_positions = claims.matches_the_formula_with_everything_given
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(2)
def test_values_are_not_rotated(harness: Harness) -> None:
    """With all queries at zero, the output is the mean of the values, whatever the positions."""
    one = harness.of(placed)
    weights = contract.zero_queries(one.weights(one.sizes)) if contract.zero_queries else {}
    call = one.module(weights=weights).call(one.inputs())
    harness.ask()
    expect_close(call.out, call.expected, "output at uniform weights")


@points(2)
def test_only_differences_of_positions_matter(harness: Harness) -> None:
    """Shifting all positions changes nothing; spreading them out does."""
    one = harness.of(placed)
    inputs, sizes = one.inputs(), one.sizes
    places, x = inputs["positions"], inputs["x"]
    start = torch.arange(sizes.B)[:, None] * 7 + 5
    moved = (places, places + 23, places + start, places - 40, places * 2)
    first, *others, spread = one.module().calls([{"x": x, "positions": p} for p in moved])
    harness.ask()
    for call in others:
        expect_close(call.out, first.out, "output with all positions moved by one number", 1e-4)
    expect_differs(spread.out, first.out, "the output at positions twice as far apart")


test_heads_are_blocks_of_consecutive_features = attention.heads_are_blocks("q_proj", "o_proj")
test_positions_go_with_their_tokens = of_placed(claims.follows_a_permutation)
test_batch_items_are_independent = of_placed(claims.batch_items_are_independent)
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_positions_of_earlier_calls_are_forgotten = of_placed(claims.remembers_nothing)
test_single_token_and_single_sequence = of_placed(claims.handles_a_single_token)


@points(1)
@includes(claims.handles_a_long_sequence)
def test_long_sequence(harness: Harness) -> None:
    """No table has a fixed length, whether positions are given or counted."""
    claims.handles_a_long_sequence(harness.of(placed))
    sizes = harness.within_reach(harness.sizes.replace(B=1, T=257))
    call = harness.module(sizes).call(harness.inputs(sizes))
    harness.ask()
    expect_close(call.out, call.expected, f"output at T = {sizes.T}")


test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
