"""decoder6: a cache of keys and values."""

import itertools
from collections.abc import Callable
from dataclasses import replace

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
from grader.attention.affordable import with_few_scores
from grader.attention.oracle import angles_left_to_rounding
from grader.suite import (
    Draw,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_differs,
    expect_gradient,
    includes,
    linear,
    load_suite,
    points,
)
from grader.suite.claims.caches import conversations_are_apart
from grader.suite.claims.devices import ELSEWHERE, expect_on_any_device
from grader.suite.claims.parts import in_parts
from grader.suite.claims.robustness import cast
from grader.suite.compare import expect_integers

turn = load_suite(__file__, "test_decoder3.py").turn
LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
FAR = (290, 4100, 9001, 70_000)  # beyond 8 bits, and beyond tables of the usual lengths
SURE = 1000  # positions whose angles float32 knows to a ten thousandth
LOUD = 1e6
LARGE = 3000  # times x: with padding that is loud, scores of some 1e10
EXACT = 1e-10  # in float64
NEARLY_EXACT = 1e-8  # in float64, at large angles
LONG = (Sizes(B=1, T=257, S=257, C=8, H=2, G=1), Sizes(B=2, T=2, S=257, C=8, H=2, G=2))
MOST = 150_000  # scores of a situation, where one sequence of a few heads has no more
SQUARES = (4, 16)  # even head sizes whose root no dtype rounds
TURNED = 0.03  # in bfloat16: a turn is three roundings
DTYPES = (torch.float32, torch.float64, torch.bfloat16)


def attend(
    weights: Weights,
    sizes: Sizes,
    x: Tensor,
    positions: Tensor,
    keys: Tensor | None = None,
    values: Tensor | None = None,
    places: Tensor | None = None,
    base: float = 10000.0,
) -> dict[str, Tensor]:
    """Heads of softmax(q·kᵀ/√D)·v over what positions show; zeros where that is nothing."""
    q, k, v = (linear(weights, name, x) for name in LAYERS[:3])
    q, k, v = (split_heads(y, heads) for y, heads in ((q, sizes.H), (k, sizes.G), (v, sizes.G)))
    q, k = turn(torch.cat([q, k], dim=1), positions, base).split([sizes.H, sizes.G], dim=1)
    new = positions
    if keys is not None and values is not None and places is not None:
        k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        positions = torch.cat([places, positions], dim=1)
    shown = (positions[:, None] >= 0) & (positions[:, None] <= new[..., None])  # (B, T, S+T)
    some = shown.any(-1, keepdim=True)[:, None]
    each = sizes.H // sizes.G
    a, b = (y.repeat_interleave(each, dim=1) for y in (k, v))
    mixed = attention_map(q, a, q.size(-1) ** -0.5, shown[:, None] | ~some) @ b * some
    output = linear(weights, "o_proj", merge_heads(mixed))
    return {"output": output, "keys": k, "values": v, "places": positions}


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Keys and values have G heads of the size of the queries'."""
    C, few = sizes.C, sizes.C // sizes.H * sizes.G
    widths = {"q_proj": C, "k_proj": few, "v_proj": few, "o_proj": C}
    return {f"{name}.weight": (width, C) for name, width in widths.items()}


def left_to_rounding(
    x: Tensor, positions: Tensor, keys: Tensor | None = None, **cached: Tensor
) -> float:
    """Angles that are known to a hundredth, scores in the thousands: any key may win."""
    farthest = float(positions.abs().max())
    given = [y.detach().double().square().mean() for y in (x, keys) if y is not None]
    if farthest > SURE and max(given) > 2:
        return float("inf")
    return angles_left_to_rounding(x, positions)


def must_be_zero(x: Tensor, positions: Tensor, **cached: Tensor) -> dict[str, Tensor]:
    """What padding gives."""
    return {"output": (positions < 0)[..., None]}


def each(
    places: Callable[[Draw, int, int, int], Tensor],
) -> Callable[[Draw, tuple[int, ...], Sizes], Tensor]:
    """As so many sequences of so many tokens have them, behind so many where they are new.

    Now and then in int32, now and then apart in memory.
    """

    def drawn(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
        B, count = shape
        found = places(draw, B, count, sizes.S).expand(shape).contiguous()
        form = draw.integer(0, 8)
        found = found.to(torch.int32 if form < 3 else torch.int64)
        return found if form % 3 else torch.stack([found, found], dim=-1)[..., 0]

    return drawn


def shuffled(draw: Draw, B: int, count: int) -> Tensor:
    """The numbers below ``count`` in any order, of each sequence in another."""
    return draw.normal(B, count).cpu().argsort(dim=-1)


def below(draw: Draw, B: int) -> Tensor:
    """Where padding stands: mostly at −1."""
    return torch.tensor((-1, -1, -2, -300, -2000))[draw.integers(0, 4, B, 1)]


def growing(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """From somewhere behind the cache on; in short ones with gaps."""
    apart = draw.integers(1, 3 if count < 20 else 1, B, 1)
    return torch.arange(count) * apart + before + draw.integers(0, 9, B, 1)


def padded(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """Padding at the end, in one of three none."""
    shown = torch.arange(count) < draw.integers(1, 3 * count, B, 1)
    return torch.where(shown, torch.arange(count) + draw.integers(0, before, B, 1), below(draw, B))


def among_padding(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """Counted on, with padding before, between and behind."""
    shown = draw.normal(B, count).cpu() > -0.5  # two of three
    return torch.where(shown, shown.cumsum(dim=1) - 1, below(draw, B))


def with_holes(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """In any order, some of it padding."""
    places = shuffled(draw, B, count) * draw.integers(1, 3, B, 1)
    return torch.where(draw.normal(B, count).cpu() > 0.5, -1 - places, places)


def repeated(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """A few, again and again."""
    return shuffled(draw, B, count) % draw.integers(1, 4, B, 1) * draw.integers(1, 9, B, 1)


def far_away(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """Where a table ends."""
    return shuffled(draw, B, count) * 3 + torch.tensor(FAR)[draw.integers(0, 3, B, 1)]


def one_of_padding(draw: Draw, B: int, count: int, before: int) -> Tensor:
    """One sequence has nothing but padding."""
    is_padding = torch.arange(B)[:, None] == draw.integer(0, B - 1)
    return torch.where(is_padding, -1, torch.arange(count) + before)


KINDS = {
    "from 0": each(lambda draw, B, count, before: torch.arange(count)),
    "padded at the end": each(padded),
    "padded at the start": each(
        lambda draw, B, count, before: torch.arange(count) - draw.integers(0, count, B, 1)
    ),
    "with holes": each(with_holes),
    "repeated": each(repeated),
    "far away": each(far_away),
    "padding": each(lambda draw, B, count, before: below(draw, B)),
}
OTHERS = {
    "behind the cache": each(lambda draw, B, count, before: torch.arange(count) + before),
    "one sequence padding": each(one_of_padding),
}
POSITIONS = Input("B T", each(growing), differentiable=False, kinds=KINDS | OTHERS)
PLACES = Input(
    *("B S", KINDS["padded at the start"]),
    optional=True,
    differentiable=False,
    kinds=KINDS,
    length="S",
)
CACHED = Input("B G S C/H", optional=True, length="S")


def fitting(sizes: Sizes) -> Sizes:
    """Heads are even; of what is long there is less, and it has a check of its own."""
    S = min(sizes.S, 40) if sizes.T > 200 else sizes.S
    return with_few_scores(sizes.replace(S=S, C=sizes.C + sizes.C // sizes.H % 2 * sizes.H), MOST)


plain = AttentionContract(
    entry="CachedGroupedQueryAttention",
    sizes=(
        Sizes(B=2, T=7, S=5, C=36, H=6, G=2),
        Sizes(B=3, T=5, S=11, C=28, H=2, G=1),
        Sizes(B=2, T=3, S=2, C=30, H=3, G=3),
        Sizes(B=3, T=1, S=7, C=10, H=1, G=1),
        Sizes(B=2, T=3, S=3, C=12, H=6, G=3),
    ),
    inputs={
        "x": Input("B T C"),
        "positions": POSITIONS,
        "keys": CACHED,
        "values": CACHED,
        "places": PLACES,
    },
    outputs={"output": "B T C", "keys": "B G S+T C/H", "values": "B G S+T C/H", "places": "B S+T"},
    tuples={"cache": ("keys", "values", "places")},
    integers=("places",),
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H, "num_groups": sizes.G},
    parameters=shapes,
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
    extra_tolerance=left_to_rounding,
    must_be_zero=must_be_zero,
    is_exact=lambda sizes: sizes.C // sizes.H in SQUARES,
    fit=fitting,
    tried=False,
)


def with_base(base: float) -> AttentionContract:
    """Given another base than the one that is there by itself."""
    return replace(
        plain,
        arguments=lambda sizes: {**plain.arguments(sizes), "base": base},
        oracle=lambda *given, **inputs: attend(*given, **inputs, base=base),
    )


slow, fast = with_base(500_000.0), with_base(100.0)
contract = replace(
    plain,
    variants={"without a base": plain, "a base of 500 000": slow, "a base of 100": fast},
    tried=True,
)
GROUPED = tuple(
    Sizes(B=2, T=3, S=5, C=H * D, H=H, G=G)
    for D, H, G in ((6, 6, 2), (2, 12, 4), (4, 8, 2), (2, 9, 3))
)
ROWS = Sizes(B=3, T=11, S=5, C=24, H=4, G=2)
PARTS = ((1,) * 11, (1, 10), (10, 1), (4, 1, 6), (3, 3, 3, 2))
filled_up = replace(
    plain, inputs={**plain.inputs, "positions": replace(POSITIONS, draw=each(among_padding))}
)


def rows(harness: Harness, sizes: Sizes = ROWS) -> dict[str, Tensor]:
    """Whole sequences, each of its own length, with padding before, between and behind."""
    places = torch.arange(sizes.T).repeat(sizes.B, 1)
    places[0, 7:] = -1
    places[1] -= 4
    places[2, [2, 5]] = -3
    places[2, 6:] -= 1
    return {"x": harness.input("x", sizes), "positions": places}


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_keys_and_values_have_a_head_for_each_group(harness: Harness) -> None:
    """That is the point of groups: all that the cache holds is H/G times smaller."""
    modules = [harness.module(sizes) for sizes in contract.sizes[1:3]]
    harness.ask()
    for module in modules:
        module.expect_fit()


@points(1)
def test_state_holds_the_weights_alone(harness: Harness) -> None:
    """A cache belongs to a conversation, not to the model that is saved."""
    module = harness.module()
    first = module.call(harness.every_input()[-1])
    saved = module.call({}, method="state_dict")
    harness.ask()
    _ = first.outs
    own = module.own_names
    more = [name for name in saved.result if name not in own]
    expect(not more, f"state_dict(): expected the weights alone, it has `{''.join(more[:1])}`")


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are split into H heads of the same even size, or not at all."""
    pairs = ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7), (15, 3), (12, 4), (7, 1))
    every = [{"embed_dim": C, "num_heads": H, "num_groups": 1} for C, H in pairs]
    numbers = ("embed_dim", "num_heads")
    claims.constructor_raises_for_each(harness, "ValueError", every, numbers)


@points(1)
def test_groups_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """H heads are split into G groups of equal size; there are no more groups than heads."""
    numbers = ("embed_dim", "num_heads", "num_groups")
    sizes = ((36, 6, 4), (32, 8, 3), (40, 10, 4), (24, 4, 8), (36, 2, 9))
    every = [dict(zip(numbers, some, strict=True)) for some in sizes]
    claims.constructor_raises_for_each(harness, "ValueError", every, numbers[1:])


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_matches_the_formula_with_a_cache = claims.matches_the_formula_with_everything_given
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(2)
def test_consecutive_heads_share_a_group(harness: Harness) -> None:
    """Changing a cached head changes only the features of the H/G heads in its group."""
    planned = []
    for sizes in GROUPED:
        eye = {"o_proj.weight": torch.eye(sizes.C)}
        module, given = harness.module(sizes).set(eye), harness.every_input(sizes)[-1]
        given["places"] = torch.arange(sizes.S).repeat(sizes.B, 1)
        before, last = module.call(given), sizes.G - 1
        for name in ("keys", "values"):
            other = {**given, name: given[name].clone()}
            other[name][:, last] = harness.input(name, sizes)[:, last]
            planned.append((sizes.C // sizes.G * last, before, module.call(other)))
    harness.ask()
    for start, before, after in planned:
        others, own = (slice(0, start), slice(start, None))
        expect_close(after.out[..., others], before.out[..., others], "features of other groups")
        right = after.expected[..., own]
        expect_close(after.out[..., own], right, "features of the heads of a group, without o_proj")


test_o_proj_mixes_the_concatenated_heads = attention.output_mixes_the_heads("o_proj")


@points(2)
def test_values_are_not_rotated(harness: Harness) -> None:
    """With all queries at zero, the output is the mean of the values, whatever the positions."""
    weights = plain.plain_weights(harness.weights(harness.sizes))
    module, inputs = harness.module(weights=weights), harness.inputs()
    places = torch.arange(harness.sizes.T).expand(inputs["positions"].shape)  # without padding
    calls = module.calls([{**inputs, "positions": places * step + 5} for step in (1, 7)])
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "output at uniform weights")
        expect_close(call.outs["values"], call.right_outputs["values"], "cached values")


@points(2)
def test_base_is_taken(harness: Harness) -> None:
    """The larger the base, the slower the last pair turns; it need not be a whole number."""
    powers = (harness.draw.integer(low, low + 198) / 100 for low in (1, 201, 401))
    every = (plain, slow, fast, *(with_base(10**power) for power in powers))
    calls, exact = [], []
    for one in map(harness.of, every):
        inputs = one.every_input()[-1]
        calls.append(one.module().call(inputs))
        far = cast({**inputs, "positions": inputs["positions"] + FAR[1]}, torch.float64)
        exact.append(one.module().to(torch.float64).call(far))
    harness.ask()
    for call in calls:
        expect_close(call.outs["keys"], call.right_outputs["keys"], "cached keys")
        expect_close(call.out, call.expected)
    for call in exact:
        expect_close(call.outs["keys"], call.right_outputs["keys"], "keys in float64", NEARLY_EXACT)


@points(2)
def test_angles_are_float32_for_bfloat16(harness: Harness) -> None:
    """bfloat16 counts 256, 258, 260: its angles are off by a radian or more."""
    calls = []
    for far in FAR[:2]:
        inputs = cast(harness.every_input()[-1], torch.bfloat16)
        inputs["positions"] = inputs["positions"] + far
        calls.append(harness.module().to(torch.bfloat16).call(inputs))
    harness.ask()
    for call in calls:
        expect_close(call.outs["keys"], call.right_outputs["keys"], "keys in bfloat16", TURNED)


@points(3)
def test_token_by_token_is_as_at_once(harness: Harness) -> None:
    """The cache is all that a new token needs of the past."""
    for one in (plain, filled_up):
        every = [(ROWS, PARTS[0])]
        claims.parts_agree_with_the_whole(harness.of(one), every, learns=False)


@points(3)
def test_chunk_by_chunk_is_as_at_once(harness: Harness) -> None:
    """Several new tokens see the whole cache, but among themselves only the past."""
    for one, some in ((plain, PARTS[1:3]), (filled_up, PARTS[3:])):
        every = [(ROWS, lengths) for lengths in some]
        every.append((ROWS.replace(B=1), (40, 1, 2)))
        claims.parts_agree_with_the_whole(harness.of(one), every, learns=False)


@points(2)
def test_gradients_in_parts_are_as_at_once(harness: Harness) -> None:
    """A cached key still learns from what attends to it later: nothing is detached."""
    every = [(ROWS, lengths) for lengths in ((1,) * 6, (4, 1, 2), (3, 3, 1))]
    claims.parts_agree_with_the_whole(harness.of(plain), every)


@points(3)
def test_sequences_of_different_lengths_go_side_by_side(harness: Harness) -> None:
    """Each gets in a batch what it gets alone, wherever the padding is."""
    inputs = rows(harness)
    module = harness.module(ROWS)
    together = [in_parts(module, inputs, lengths) for lengths in ((11,), (1, 10), (4, 1, 6))]
    alone, shown = [], []
    for row, places in enumerate(inputs["positions"]):
        real = places >= 0
        shown.append(real.cpu())
        alone.append(module.call({n: y[row : row + 1, real] for n, y in inputs.items()}))
    harness.ask()
    for row, (call, real) in enumerate(zip(alone, shown, strict=True)):
        for parts in together:
            got = torch.cat([part.out for part in parts], dim=1)[row, real]
            expect_close(got, call.out[0], "output of a sequence beside others")
    for call in alone:
        expect_close(call.out, call.expected, "output of a sequence alone")


@points(2)
def test_positions_need_not_begin_at_zero(harness: Harness) -> None:
    """Shifting all positions changes nothing, in parts too; spreading them out does."""
    inputs = harness.inputs(ROWS)
    places = inputs["positions"]
    start = torch.arange(ROWS.B)[:, None] * 7 + 5
    module = harness.module(ROWS)
    every = [{**inputs, "positions": p} for p in (places, places + 23, places + start, places * 2)]
    whole = [module.call(one) for one in every]
    parts = in_parts(module, every[2], (4, 1, 6))
    harness.ask()
    first, *others, spread = whole
    said = torch.cat([part.out for part in parts], dim=1)
    for out in (*(call.out for call in others), said):
        expect_close(out, first.out, "output with all positions moved by one number", 1e-4)
    expect_differs(spread.out, first.out, "the output at positions twice as far apart")


@points(2)
def test_padding_has_no_influence(harness: Harness) -> None:
    """Whatever the padding holds, in the cache or among the new tokens."""
    given = harness.every_input(ROWS)[-1] | rows(harness)
    given["places"] = torch.tensor([[-1, 0, 1, 2, 3], [0, 1, -2, 2, 3], [0, 1, 2, -1, -1]])
    gone, hidden = given["places"] < 0, given["positions"] < 0
    others = []
    for number in (0.0, LOUD, -LOUD):
        other = {name: y.clone() for name, y in given.items()}
        other["x"][hidden] = number
        for name in ("keys", "values"):
            other[name].transpose(1, 2)[gone] = number
        others.append(other)
    for far in (-77, -1000, -100_000):
        others.append({**given, "places": torch.where(gone, far, given["places"])})
    large = [{**one, "x": one["x"] * LARGE} for one in (given, *others[1:3])]
    module = harness.module(ROWS)
    first, *calls = module.calls([given, *others])
    first_large, *calls_large = module.calls(large)
    harness.ask()
    expect_close(first.out, first.expected, "output beside padding")
    for call in calls:
        expect_close(call.out, first.out, "output for other numbers in the padding")
    for call in calls_large:
        expect_close(call.out, first_large.out, "output for large numbers in the padding")


@points(2)
def test_padding_gives_zeros_and_no_gradient(harness: Harness) -> None:
    """Not small ones: none. And a softmax over nothing yields no NaN or infinity."""
    calls = []
    for training in (False, True):
        every = harness.every_input(ROWS)
        for given in (every[0] | rows(harness), every[1] | rows(harness)):
            given["positions"][0] = -1  # a whole sequence
            grad = harness.draw.normal(*given["x"].shape)
            module = harness.module(ROWS).train(training)
            calls.append(module.call(given, grad_output={"output": grad}))
    harness.ask()
    for call in calls:
        hidden = call.inputs["positions"] < 0
        left = float(call.out[hidden].abs().max())
        expect(left == 0, f"output of padding: expected exact zeros, got {left:.4g}")
        for name, right in call.right_gradients.items():
            got = expect_gradient(call.gradients[name], name)
            expect_close(got, right, f"gradient of {name} beside padding", 1e-4)
        left = float(expect_gradient(call.gradients["x"], "x")[hidden].abs().max())
        expect(left == 0, f"gradient of x at padding: expected exact zeros, got {left:.4g}")


@points(2)
def test_conversations_do_not_mix(harness: Harness) -> None:
    """One module serves many: what it knows of each conversation is in that one's cache."""
    conversations_are_apart(harness.of(filled_up), (2, 1, 4), (2, 1, 3, 1), (3, 1))


@points(2)
def test_one_cache_may_be_gone_on_from_twice(harness: Harness) -> None:
    """As in a search that tries several words: no branch writes into another one's past."""
    claims.branches_agree(harness.of(plain), 2, (1, 1, 2), (1, 2), (4,))


@points(2)
def test_cache_goes_on_as_it_was(harness: Harness) -> None:
    """Old keys, values and positions come back exact to the last digit, in every dtype."""
    calls, third = [], 1 / 3  # is no number of float32
    for dtype in DTYPES:
        for sizes in contract.sizes[:2]:
            given = cast(harness.every_input(sizes)[-1], dtype)
            given |= {name: given[name] * third for name in ("keys", "values")}
            calls.append(harness.module(sizes).to(dtype).call(given))
    harness.ask()
    for call in calls:
        S = call.sizes.S
        for name in ("keys", "values"):
            old, kept = call.tensors[name], call.outs[name][:, :, :S]
            call.expect_form(call.outs[name], old.dtype, f"cached {name}")
            expect(bool((kept == old).all()), f"{name}: what was cached comes back changed")
            if old.dtype == torch.float64:
                new, right = call.outs[name][:, :, S:], call.right_outputs[name][:, :, S:]
                expect_close(new, right, f"new {name} in float64", EXACT)
        for name, got in call.counts.items():
            expect_integers(got, call.all_right_outputs[name], f"{name} with a cache")


@points(1)
def test_far_positions_are_told_apart(harness: Harness) -> None:
    """As integers they are: in bfloat16, 291 becomes 292, and the next token is no later."""
    planned = []
    for far, dtype in zip(FAR, itertools.cycle((torch.bfloat16, torch.float32))):
        inputs = cast(harness.inputs(), dtype)
        inputs["positions"] = torch.arange(harness.sizes.T) + far
        inputs["positions"] = inputs["positions"].repeat(harness.sizes.B, 1)
        other = {**inputs, "x": inputs["x"].clone()}
        other["x"][:, -1] *= -9
        planned.append(harness.module().to(dtype).calls([inputs, other]))
    harness.ask()
    for before, after in planned:
        expect_close(after.out[:, :-1], before.out[:, :-1], "output before what changed", 1e-2)
        expect_differs(after.out[:, -1], before.out[:, -1], "the output of what changed")


test_positions_go_with_their_tokens = claims.follows_a_permutation
test_without_queries_each_position_has_the_mean_of_its_past = (
    attention.attends_all_alike_without_queries
)
test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient
test_batch_items_are_independent = claims.batch_items_are_independent
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradients_of_the_inputs_are_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_no_input_is_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token


@points(1)
@includes(claims.handles_a_long_sequence_from_its_start)
def test_long_sequence(harness: Harness) -> None:
    """Neither a table nor a mask has a fixed length; a long text is learned from as well."""
    claims.handles_a_long_sequence_from_its_start(harness)
    planned = []
    long = [harness.within_reach(sizes, 4, learns=True) for sizes in LONG]
    for sizes, training in itertools.product(long, (False, True)):
        plainly, behind_a_cache = harness.every_input(sizes)
        given, weights = plainly if training else behind_a_cache, harness.weights(sizes)
        grad = harness.draw.normal(*given["x"].shape)
        for dtype, *tolerances in ((torch.float32, 3e-4, 1e-3), (torch.float64, EXACT, 10 * EXACT)):
            module = harness.module(sizes, weights).train(training).to(dtype)
            inputs, wanted = cast(given, dtype), {"output": grad.to(dtype)}
            planned.append((module.call(inputs, grad_output=wanted), tolerances))
    harness.ask_for(call for call, _ in planned)
    for call, tolerances in planned:
        what = f"at T = {call.sizes.T}, S = {call.sizes.S}"
        expect_close(call.out, call.expected, f"output {what}", tolerances[0])
        for name, right in call.right_gradients.items():
            got = expect_gradient(call.gradients[name], name)
            expect_close(got, right, f"gradient of {name} {what}", tolerances[1])


test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16


@points(1)
def test_no_tensor_is_pinned_to_a_device(harness: Harness) -> None:
    """A mask or an angle made without ``device=`` stays on the CPU.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.
    """
    expect_on_any_device(harness.of(slow), harness.every_input())
    longer = harness.inputs(harness.within_reach(harness.sizes.replace(T=131), ELSEWHERE))
    step = harness.every_input(harness.sizes.replace(T=1))[-1]
    expect_on_any_device(harness.of(plain), [*harness.every_input(), step, longer])
