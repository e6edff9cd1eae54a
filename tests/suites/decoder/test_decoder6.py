"""decoder6: a cache of keys and values."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.attention import AttentionContract, attention_map, merge_heads, split_heads
from grader.attention import claims as attention
from grader.suite import (
    Call,
    Draw,
    Harness,
    Input,
    Module,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_differs,
    expect_form,
    expect_gradient,
    expect_integers,
    linear,
    load_suite,
    points,
)

turn = load_suite(__file__, "test_decoder3.py").turn
LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
FAR = (290, 4100, 9001, 70_000)  # beyond 8 bits, and beyond tables of the usual lengths
SURE = 1000  # positions whose angles float32 knows to a ten thousandth
LOUD = 1e6
ROUNDED = 1e-14
EXACT = 1e-10  # in float64
LONG = (Sizes(B=1, T=257, S=257, C=8, H=2, G=1), Sizes(B=2, T=2, S=257, C=8, H=2, G=2))
SQUARES = (4, 16)  # even head sizes whose root no dtype rounds
TURNED = 0.03  # in bfloat16: a turn is three roundings


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
    q = turn(split_heads(linear(weights, "q_proj", x), sizes.H), positions, base)
    k = turn(split_heads(linear(weights, "k_proj", x), sizes.G), positions, base)
    v = split_heads(linear(weights, "v_proj", x), sizes.G)
    if keys is not None and values is not None and places is not None:
        k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        positions, new = torch.cat([places, positions], dim=1), positions
    else:
        new = positions
    shown = (positions[:, None] >= 0) & (positions[:, None] <= new[..., None])  # (B, T, S+T)
    some = shown.any(-1, keepdim=True)[:, None]
    each = sizes.H // sizes.G
    a, b = (y.repeat_interleave(each, dim=1) for y in (k, v))
    mixed = attention_map(q, a, q.size(-1) ** -0.5, shown[:, None] | ~some) @ b * some
    output = linear(weights, "o_proj", merge_heads(mixed))
    return {"output": output, "keys": k, "values": v, "places": positions}


def value_vectors(weights: Weights, sizes: Sizes, x: Tensor) -> tuple[Tensor, float]:
    """What the attention weights mix: each head's values, as o_proj turns them."""
    v = split_heads(linear(weights, "v_proj", x), sizes.G)
    v = v.repeat_interleave(sizes.H // sizes.G, dim=1)
    turned = split_heads(weights["o_proj.weight"][None], sizes.H)  # (1, H, C, D)
    return (v @ turned.mT).flatten(1, 2), 0.0


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
    return farthest * ROUNDED  # of what float64 knows of an angle


def silent(x: Tensor, positions: Tensor, **cached: Tensor) -> dict[str, Tensor]:
    """What padding gives."""
    return {"output": (positions < 0)[..., None]}


def as_it_comes(draw: Draw, places: Tensor) -> Tensor:
    """The same positions, now and then in int32, now and then apart in memory."""
    places = places.to((torch.int64, torch.int32)[draw.integer(0, 2) // 2])
    if draw.integer(0, 2):
        return places
    return torch.stack([places, places], dim=-1)[..., 0]


def each(
    one: Callable[[Draw, int, int], Tensor],
) -> Callable[[Draw, tuple[int, ...], Sizes], Tensor]:
    """Each sequence has its own: of so many tokens, behind so many where they are new."""

    def drawn(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
        B, count = shape
        return as_it_comes(draw, torch.stack([one(draw, count, sizes.S) for _ in range(B)]))

    return drawn


def growing(draw: Draw, count: int, before: int) -> Tensor:
    """From somewhere behind the cache on; in short ones with gaps."""
    return (
        torch.arange(count) * (draw.integer(1, 3) if count < 20 else 1)
        + before
        + draw.integer(0, 9)
    )


def below(draw: Draw) -> int:
    """Where padding stands: mostly at −1."""
    return (-1, -1, -2, -300, -100_000)[draw.integer(0, 4)]


def counted(draw: Draw, count: int, before: int) -> Tensor:
    """From 0 on."""
    return torch.arange(count)


def following(draw: Draw, count: int, before: int) -> Tensor:
    """As they come where all sequences are as long."""
    return torch.arange(count) + before


def padded(draw: Draw, count: int, before: int) -> Tensor:
    """Padding at the end, in one of three none."""
    start = draw.integer(0, before)
    places = torch.arange(count) + start
    places[draw.integer(1, 3 * count) :] = below(draw)
    return places


def padded_at_the_start(draw: Draw, count: int, before: int) -> Tensor:
    """Padding counts up to −1; then the text begins at 0."""
    return torch.arange(count) - draw.integer(0, count)


def with_holes(draw: Draw, count: int, before: int) -> Tensor:
    """In any order, some of it padding."""
    places = draw.permutation(count) * draw.integer(1, 3)
    return torch.where(draw.normal(count).cpu() > 0.5, -1 - places, places)


def repeated(draw: Draw, count: int, before: int) -> Tensor:
    """A few, again and again."""
    return draw.permutation(count) % draw.integer(1, 4) * draw.integer(1, 9)


def far_away(draw: Draw, count: int, before: int) -> Tensor:
    """Where a table ends."""
    return draw.permutation(count) * 3 + FAR[draw.integer(0, len(FAR) - 1)]


def padding(draw: Draw, count: int, before: int) -> Tensor:
    """Nothing else."""
    return torch.full((count,), below(draw))


def one_of_padding(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """One sequence has nothing but padding."""
    places = each(following)(draw, shape, sizes)
    places[draw.integer(0, shape[0] - 1)] = -1
    return places


KINDS = {
    "from 0": each(counted),
    "padded at the end": each(padded),
    "padded at the start": each(padded_at_the_start),
    "with holes": each(with_holes),
    "repeated": each(repeated),
    "far away": each(far_away),
    "padding": each(padding),
}
POSITIONS = Input(
    *("B T", each(growing)),
    differentiable=False,
    kinds=KINDS | {"behind the cache": each(following), "one sequence padding": one_of_padding},
)
PLACES = Input(
    "B S", each(padded_at_the_start), optional=True, differentiable=False, kinds=KINDS, length="S"
)
CACHED = Input("B G S C/H", optional=True, length="S")


def fitting(sizes: Sizes) -> Sizes:
    """Heads are even; where both T and S are long it takes long, and has a check of its own."""
    S = min(sizes.S, 40) if sizes.T > 200 else sizes.S
    return sizes.replace(S=S, C=sizes.C + sizes.C // sizes.H % 2 * sizes.H)


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
    outputs={
        "output": "B T C",
        "keys": "B G S+T C/H",
        "values": "B G S+T C/H",
        "places": "B S+T",
    },
    tuples={"cache": ("keys", "values", "places")},
    integers=("places",),
    arguments=lambda sizes: {
        "embed_dim": sizes.C,
        "num_heads": sizes.H,
        "num_groups": sizes.G,
    },
    parameters=shapes,
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=value_vectors,
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
    slack=left_to_rounding,
    silent=silent,
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
    for D, H, G in ((6, 6, 2), (2, 12, 4), (4, 8, 2), (2, 9, 3), (6, 5, 1), (4, 3, 3))
)
ROWS = Sizes(B=3, T=11, S=5, C=24, H=4, G=2)
PARTS = ((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), (4, 5, 11), (1, 11), (10, 11), (3, 6, 9, 11))


def rows(harness: Harness, sizes: Sizes = ROWS) -> dict[str, Tensor]:
    """Whole sequences, each of its own length, with padding before, between and behind."""
    places = torch.arange(sizes.T).repeat(sizes.B, 1)
    places[0, 7:] = -1
    places[1] -= 4
    places[2, [2, 5]] = -3
    places[2, 6:] -= 1
    return {"x": harness.input("x", sizes), "positions": places.to(harness.device)}


def in_parts(
    module: Module, inputs: dict[str, Tensor], ends: tuple[int, ...], grad: Tensor | None = None
) -> list[Call]:
    """Plan calls with the tokens up to each of these places, the cache handed on."""
    parts: list[Call] = []
    for start, end in itertools.pairwise((0, *ends)):
        given: dict[str, Any] = {n: y[:, start:end].contiguous() for n, y in inputs.items()}
        given |= parts[-1].handles("cache") if parts else {}
        asked = {} if grad is None else {"grad_output": {"output": grad[:, start:end]}}
        parts.append(module.call(given, **asked))
    return parts


def joined(parts: list[Call]) -> Tensor:
    """The outputs of all parts, one behind the other."""
    return torch.cat([part.out for part in parts], dim=1)


def expect_counts(call: Call, what: str) -> None:
    """Fail the check unless the positions in a call's cache are the right ones."""
    for name, got in call.counts.items():
        expect_integers(got, call.every_right[name], f"{name} {what}")


def expect_whole_cache(call: Call, what: str) -> None:
    """Fail the check unless a call's cache is what it should be."""
    for name in ("keys", "values"):
        expect_close(call.outs[name], call.rights[name], f"{name} {what}")
    expect_counts(call, what)


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_keys_and_values_have_a_head_for_each_group(harness: Harness) -> None:
    """That is what the groups are for: all that the cache holds is H/G times smaller."""
    for sizes in contract.sizes:
        claims.has_its_parameters(harness, sizes)


@points(1)
def test_state_holds_the_weights_alone(harness: Harness) -> None:
    """A cache belongs to a conversation, not to the model that is saved."""
    module = harness.module()
    first = module.call(harness.every_input()[-1])
    saved = module.call({}, method="state_dict")
    harness.ask()
    _ = first.outs
    more = [name for name in saved.result if name not in shapes(harness.sizes)]
    expect(not more, f"state_dict(): expected the weights alone, it has `{''.join(more[:1])}`")


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are cut into H heads of the same even size, or not at all."""
    numbers = ("embed_dim", "num_heads")
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7), (15, 3), (12, 4), (7, 1)):
        given = {"embed_dim": C, "num_heads": H, "num_groups": 1}
        claims.constructor_raises(harness, "ValueError", numbers, **given)


@points(1)
def test_groups_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """H heads are cut into G groups of the same size; there are no more groups than heads."""
    numbers = ("num_heads", "num_groups")
    for C, H, G in ((36, 6, 4), (32, 8, 3), (40, 10, 4), (24, 4, 8), (36, 2, 9)):
        given = {"embed_dim": C, "num_heads": H, "num_groups": G}
        claims.constructor_raises(harness, "ValueError", numbers, **given)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_matches_the_formula_with_a_cache = claims.matches_the_formula_with_everything_given
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(2)
def test_consecutive_heads_share_a_group(harness: Harness) -> None:
    """Another cached head changes the features of the H/G heads of its group alone."""
    planned = []
    for sizes in GROUPED:
        eye = {"o_proj.weight": torch.eye(sizes.C, device=harness.device)}
        module, given = harness.module(sizes).set(eye), harness.every_input(sizes)[-1]
        given["places"] = torch.arange(sizes.S, device=harness.device).repeat(sizes.B, 1)
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


@points(1)
def test_o_proj_mixes_the_concatenated_heads(harness: Harness) -> None:
    """The last projection is the only place where heads meet: at zero it leaves nothing."""
    attention.output_mixes_the_heads(harness, "o_proj")


@points(2)
def test_values_are_not_rotated(harness: Harness) -> None:
    """With all queries at zero, the output is the mean of the values, wherever tokens stand."""
    weights = plain.plain_weights(harness.weights(harness.sizes))
    module, every = harness.module(weights=weights), harness.every_input()
    calls = module.calls([*every, {**every[0], "positions": every[0]["positions"] * 7}])
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "output at uniform weights")
        expect_close(call.outs["values"], call.rights["values"], "cached values")


@points(2)
def test_base_is_taken(harness: Harness) -> None:
    """The larger the base, the slower the last pair; it need be no whole number."""
    powers = (harness.draw.integer(low, low + 198) / 100 for low in (1, 201, 401))
    every = (plain, slow, fast, *(with_base(10**power) for power in powers))
    calls = [harness.of(one).module().call(harness.of(one).every_input()[-1]) for one in every]
    harness.ask()
    for call in calls:
        expect_close(call.outs["keys"], call.rights["keys"], "cached keys")
        expect_close(call.out, call.expected)


@points(2)
def test_angles_are_float32_for_bfloat16(harness: Harness) -> None:
    """bfloat16 counts 256, 258, 260: its angles are off by a radian and more."""
    calls = []
    for far in FAR[:2]:
        inputs = claims.cast(harness.every_input()[-1], torch.bfloat16)
        inputs["positions"] = inputs["positions"] + far
        calls.append(harness.module().to(torch.bfloat16).call(inputs))
    harness.ask()
    for call in calls:
        expect_close(call.outs["keys"], call.rights["keys"], "keys in bfloat16", TURNED)


@points(3)
def test_token_by_token_is_as_at_once(harness: Harness) -> None:
    """What was cached is all that a new token needs of the past."""
    expect_the_same_in_parts(harness, PARTS[:1])


@points(3)
def test_chunk_by_chunk_is_as_at_once(harness: Harness) -> None:
    """Several new tokens see all of the cache, and of themselves the past only."""
    expect_the_same_in_parts(harness, PARTS[1:])


def expect_the_same_in_parts(harness: Harness, every: tuple[tuple[int, ...], ...]) -> None:
    """In parts as at once, of equal lengths and of different ones, in training and not."""
    planned = []
    alike = harness.inputs(ROWS)
    for inputs in (alike, rows(harness)):
        for ends in every:
            module = harness.module(ROWS).train(len(planned) % 2 == 0)
            planned.append((module.call(inputs), in_parts(module, inputs, ends)))
    harness.ask()
    for whole, parts in planned:
        sizes = [part.sizes.T for part in parts]
        expect_close(joined(parts), whole.expected, f"output in parts of {sizes}")
        last = parts[-1]
        for name in ("keys", "values"):
            expect_close(last.outs[name], whole.rights[name], f"{name} after parts of {sizes}")
        expect_counts(last, f"after parts of {sizes}")


@points(2)
def test_gradients_in_parts_are_as_at_once(harness: Harness) -> None:
    """A cached key still learns from what attends to it later: nothing is detached."""
    inputs = harness.inputs(ROWS)
    grad = harness.draw.normal(*inputs["x"].shape)
    module = harness.module(ROWS)
    whole = module.call(inputs, grad_output={"output": grad})
    planned = [in_parts(module, inputs, ends, grad) for ends in (PARTS[0], PARTS[1], PARTS[4])]
    harness.ask()
    for parts in planned:
        every = [part.gradients for part in parts]
        for name in shapes(ROWS):
            got = torch.stack([expect_gradient(one[name], name) for one in every]).sum(0)
            expect_close(
                got, whole.right_gradients[name], f"gradient of {name}, of all parts", 1e-4
            )


@points(3)
def test_sequences_of_different_lengths_go_side_by_side(harness: Harness) -> None:
    """Each is given in a batch what it is given alone, wherever padding fills it up."""
    inputs = rows(harness)
    module = harness.module(ROWS)
    together = [in_parts(module, inputs, ends) for ends in ((11,), *PARTS[:3])]
    alone, shown = [], []
    for row, places in enumerate(inputs["positions"]):
        real = places >= 0
        shown.append(real.cpu())
        alone.append(module.call({n: y[row : row + 1, real] for n, y in inputs.items()}))
    harness.ask()
    for row, (call, real) in enumerate(zip(alone, shown, strict=True)):
        for parts in together:
            got = joined(parts)[row, real.to(harness.device)]
            expect_close(got, call.out[0], "output of a sequence beside others")
    for call in alone:
        expect_close(call.out, call.expected, "output of a sequence alone")


@points(2)
def test_positions_need_not_begin_at_zero(harness: Harness) -> None:
    """A text that begins elsewhere says the same, in parts too; one that is spread out does not."""
    inputs = harness.inputs(ROWS)
    places = inputs["positions"]
    start = torch.arange(ROWS.B, device=harness.device)[:, None] * 7 + 5
    module = harness.module(ROWS)
    every = [{**inputs, "positions": p} for p in (places, places + 23, places + start, places * 2)]
    whole = [module.call(one) for one in every]
    parts = [in_parts(module, one, PARTS[1]) for one in every[:3]]
    harness.ask()
    first, *others, spread = whole
    for out in (*(call.out for call in others), *map(joined, parts)):
        expect_close(out, first.out, "output with all positions moved by one number", 1e-4)
    expect_differs(spread.out, first.out, "the output at positions twice as far apart")


@points(2)
def test_padding_has_no_influence(harness: Harness) -> None:
    """Whatever stands there, in the cache or among the new tokens."""
    given = harness.every_input(ROWS)[-1] | rows(harness)
    given["places"] = torch.tensor([[-1, 0, 1, 2, 3], [0, 1, -2, 2, 3], [0, 1, 2, -1, -1]])
    given["places"] = given["places"].to(harness.device)
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
    first, *calls = harness.module(ROWS).calls([given, *others])
    harness.ask()
    expect_close(first.out, first.expected, "output beside padding")
    for call in calls:
        expect_close(call.out, first.out, "output for other numbers in the padding")


@points(2)
def test_padding_gives_zeros_and_no_gradient(harness: Harness) -> None:
    """Not small ones: none. And nothing that is not finite comes of a softmax of nothing."""
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
    """One module serves many: what it knows of each is in that one's cache."""
    module, first, second = harness.module(ROWS), harness.inputs(ROWS), rows(harness)
    planned: list[list[Call]] = [[], []]
    for start, end in itertools.pairwise((0, 2, 3, 7, 11)):
        for inputs, parts in zip((first, second), planned, strict=True):
            given: dict[str, Any] = {n: y[:, start:end].contiguous() for n, y in inputs.items()}
            parts.append(module.call(given | (parts[-1].handles("cache") if parts else {})))
    again = module.call(first)
    harness.ask()
    for parts in (*planned, [again]):
        for call in parts:
            expect_close(call.out, call.expected, "output of one of two conversations")
            expect_whole_cache(call, "of one of two conversations")


@points(2)
def test_one_cache_may_be_gone_on_from_twice(harness: Harness) -> None:
    """As a search does that tries several words: no branch writes into another one's past."""
    module, inputs = harness.module(ROWS), harness.inputs(ROWS)
    start, more, *words = (
        {n: y[:, a:b].contiguous() for n, y in inputs.items()}
        for a, b in itertools.pairwise((0, 2, 4, 5, 6, 9))
    )
    trunk = module.call({**more, **module.call(start).handles("cache")})
    branches = [module.call({**word, **trunk.handles("cache")}) for word in words]
    leaves = [
        module.call({**word, **branch.handles("cache")})
        for word, branch in zip(words[::-1], branches, strict=True)
    ]
    last = module.call({**words[0], **trunk.handles("cache")})
    harness.ask()
    for call in (trunk, *branches, *leaves, last):
        expect_close(call.out, call.expected, "output of a branch")
        expect_whole_cache(call, "of a branch")


@points(2)
def test_cache_goes_on_as_it_was(harness: Harness) -> None:
    """Old keys, values and positions come back to the last digit, in every dtype."""
    calls, third = [], 1 / 3  # is no number of float32
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for sizes in contract.sizes[:3]:
            given = claims.cast(harness.every_input(sizes)[-1], dtype)
            given |= {name: given[name] * third for name in ("keys", "values")}
            calls.append(harness.module(sizes).to(dtype).call(given))
    harness.ask()
    for call in calls:
        S = call.sizes.S
        for name in ("keys", "values"):
            old, kept = call.tensors[name], call.outs[name][:, :, :S]
            expect_form(call.outs[name], old.dtype, old.device, f"cached {name}")
            expect(bool((kept == old).all()), f"{name}: what was cached comes back changed")
            if old.dtype == torch.float64:
                new, right = call.outs[name][:, :, S:], call.rights[name][:, :, S:]
                expect_close(new, right, f"new {name} in float64", EXACT)
        expect_counts(call, "with a cache")


@points(1)
def test_far_positions_are_told_apart(harness: Harness) -> None:
    """As integers they are: in bfloat16, 291 is 292, and the next token is no later than this."""
    planned = []
    for far, dtype in itertools.product(FAR, (torch.bfloat16, torch.float32)):
        inputs = claims.cast(harness.inputs(), dtype)
        inputs["positions"] = torch.arange(harness.sizes.T, device=harness.device) + far
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
def test_long_sequence(harness: Harness) -> None:
    """Neither a table nor a mask has a length of its own; a long text is learned from as well."""
    claims.handles_a_long_sequence_from_its_start(harness)
    calls = []
    for sizes, given in itertools.product(LONG, (0, -1)):
        for dtype in (torch.float32, torch.float64):
            inputs = claims.cast(harness.every_input(sizes)[given], dtype)
            grad = {"output": harness.draw.normal(*inputs["x"].shape).to(dtype)}
            module = harness.module(sizes).train(given == 0).to(dtype)
            calls.append(module.call(inputs, grad_output=grad))
    harness.ask()
    for call in calls:
        tolerances = (EXACT, EXACT * 10) if call.out.dtype == torch.float64 else (3e-4, 1e-3)
        what = f"at T = {call.sizes.T}, S = {call.sizes.S}"
        expect_close(call.out, call.expected, f"output {what}", tolerances[0])
        for name, right in call.right_gradients.items():
            got = expect_gradient(call.gradients[name], name)
            expect_close(got, right, f"gradient of {name} {what}", tolerances[1])


test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
