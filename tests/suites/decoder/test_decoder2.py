"""decoder2: cross-attention, with padding among the keys."""

from functools import partial

import torch
from torch import Tensor

from grader.attention import attention_map, merge_heads, split_heads
from grader.attention import claims as attention
from grader.attention.situations.masks import mask_forms
from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
    PlannedCall,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_differs,
    expect_finite,
    linear,
    points,
)
from grader.suite.readable import Drawn, readable

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
SQUARES = (1, 4, 16)  # head sizes whose root no dtype rounds


def attend(
    weights: Weights, sizes: Sizes, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None
) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v, concatenated, then o_proj; zeros where all keys are hidden."""
    q, k, v = (linear(weights, n, y) for n, y in zip(LAYERS, (x, memory, memory), strict=False))
    q, k, v = (split_heads(y, sizes.H) for y in (q, k, v))
    scale = (sizes.C / sizes.H) ** -0.5
    if memory_mask is None:
        mixed = attention_map(q, k, scale) @ v
    else:
        shown = (memory_mask != 0)[:, None, None, :]
        some = shown.any(-1, keepdim=True)
        mixed = attention_map(q, k, scale, shown | ~some) @ v * some
    return linear(weights, "o_proj", merge_heads(mixed))


def must_be_zero(x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> dict[str, Tensor]:
    """Whoever has nothing to read, and what is padding."""
    if memory_mask is None:
        return {}
    hidden = (memory_mask == 0)[..., None]  # (B, S, 1)
    empty = hidden.all(1, keepdim=True)  # (B, 1, 1)
    return {"output": empty, "x": empty, "memory": hidden}


def holes(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Each sequence shows and hides something, in any order."""
    return draw.mask(*shape)


def padded(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Sequences of different lengths, one of which fills all places."""
    B, S = shape
    lengths = torch.tensor([draw.integer(1, S) for _ in range(B)])
    lengths[draw.integer(0, B - 1)] = S
    return torch.arange(S) < lengths[:, None]


def one_shown(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """A single token in each sequence."""
    places = torch.tensor([draw.integer(0, shape[1] - 1) for _ in range(shape[0])])
    return torch.arange(shape[1]) == places[:, None]


def one_empty(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """One sequence has nothing to read."""
    mask = holes(draw, shape, sizes).cpu()
    mask[draw.integer(0, shape[0] - 1)] = False
    return mask


MASKS = {
    "holes": holes,
    "padding at the end": padded,
    "padding at the start": lambda draw, shape, sizes: padded(draw, shape, sizes).flip(-1),
    "one token": one_shown,
    "nothing hidden": lambda draw, shape, sizes: torch.ones(shape, dtype=torch.bool),
    "one sequence hidden": one_empty,
    "all hidden": lambda draw, shape, sizes: torch.zeros(shape, dtype=torch.bool),
}

contract = Contract(
    entry="CrossAttention",
    sizes=(
        Sizes(B=2, T=5, S=7, C=15, E=11, H=3),
        Sizes(B=3, T=5, S=2, C=7, E=13, H=1),
        Sizes(B=2, T=3, S=11, C=14, E=5, H=2),
        Sizes(B=3, T=2, S=3, C=5, E=5, H=5),
    ),
    inputs={
        "x": Input("B T C"),
        "memory": Input("B S E"),
        "memory_mask": Input(
            *("B S", holes), optional=True, differentiable=False, kinds=MASKS, forms=mask_forms()
        ),
    },
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H, "memory_dim": sizes.E},
    parameters=lambda sizes: {
        f"{name}.weight": (sizes.C, sizes.E if name in ("k_proj", "v_proj") else sizes.C)
        for name in LAYERS
    },
    oracle=attend,
    must_be_zero=must_be_zero,
    is_exact=lambda sizes: sizes.C // sizes.H in SQUARES,
)


def without_queries(weights: Weights) -> Weights:
    """The same weights; every query attends to all keys alike."""
    return {**weights, "q_proj.weight": weights["q_proj.weight"] * 0}


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are split into H heads of equal size, or not at all."""
    for C, H, E in ((15, 4, 4), (14, 4, 14), (12, 5, 5), (9, 2, 9), (3, 7, 7)):
        given = {"embed_dim": C, "num_heads": H, "memory_dim": E}
        claims.constructor_raises(harness, "ValueError", **given)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_matches_the_formula_under_a_mask = claims.matches_the_formula_with_everything_given


@points(2)
def test_scores_are_divided_by_the_root_of_the_head_size(harness: Harness) -> None:
    """With two keys, the ratio of their weights tells how much their scores differ."""
    calls = []
    for sizes in (harness.sizes.replace(S=2), Sizes(B=2, T=7, S=2, C=22, E=13, H=2)):
        drawn = readable(harness, partial(_without_o_proj, harness, sizes), _expect_scaled)
        calls.append(harness.module(sizes, drawn.weights).call(drawn.inputs))
    harness.ask()
    for call in calls:
        _expect_scaled(call, call.out)


def _without_o_proj(harness: Harness, sizes: Sizes) -> Drawn:
    weights = {**harness.weights(sizes), "o_proj.weight": torch.eye(sizes.C)}
    return Drawn(sizes, weights, harness.inputs(sizes))


def _expect_scaled(call: PlannedCall, out: Tensor) -> None:
    sizes, (found, is_multiple) = call.sizes, _scale_of(call, out)
    scale = (sizes.C / sizes.H) ** -0.5
    got = f"q·k × {found:.4g}" if is_multiple else "no multiple of q·k"
    says = f"expected scores of q·k × {scale:.4g}, got {got} ({sizes})"
    expect(abs(found / scale - 1) < 0.01, says)


def _scale_of(call: PlannedCall, whole: Tensor) -> tuple[float, bool]:
    """What q·k was multiplied by, from an output for two keys without o_proj, and if it was."""
    q, k, v = (
        split_heads(linear(call.right_weights, name, call.right_inputs[of]), call.sizes.H)
        for name, of in zip(LAYERS, ("x", "memory", "memory"), strict=False)
    )
    first, second = v[:, :, :1], v[:, :, 1:]  # (B, H, 1, D)
    out = split_heads(whole.double().cpu(), call.sizes.H)  # (B, H, T, D)
    apart = first - second
    share = ((out - second) * apart).sum(-1) / apart.square().sum(-1)  # (B, H, T) of the first
    mine = share.clamp(1e-6, 1 - 1e-6).logit()
    products = (q @ (k[:, :, :1] - k[:, :, 1:]).mT).squeeze(-1)  # (B, H, T, 1) -> (B, H, T)
    found = (mine * products).sum() / products.square().sum()
    return float(found), bool((mine - found * products).norm() < 0.1 * mine.norm())


@points(2)
def test_weights_of_each_query_sum_to_one(harness: Harness) -> None:
    """If all tokens of the memory are the same, every query gets that token."""
    inputs = harness.inputs()
    inputs["memory"] = inputs["memory"][:, :1].expand(inputs["memory"].shape).contiguous()
    call = harness.module().call(inputs)
    harness.ask()
    expect_close(call.out, call.expected, "output for a memory of equal tokens")


@points(2)
def test_keys_and_values_are_read_from_the_memory(harness: Harness) -> None:
    """With all queries at zero, the output is the mean of the memory's values for any ``x``."""
    module = harness.module(weights=without_queries(harness.weights(harness.sizes)))
    inputs = harness.inputs()
    one, other = module.calls([inputs, {**inputs, "x": harness.input("x")}])
    harness.ask()
    expect_close(one.out, one.expected, "output where all keys weigh the same")
    expect_close(other.out, one.out, "output for another x, where all keys weigh the same")


@points(2)
def test_heads_are_blocks_of_consecutive_features(harness: Harness) -> None:
    """Changing the middle head's queries changes that head's block of features and no other."""
    D = harness.sizes.C // harness.sizes.H
    module, inputs = harness.module(), harness.inputs()
    before = module.set({"o_proj.weight": torch.eye(harness.sizes.C)})
    old = before.call(inputs)
    queries = module.weights["q_proj.weight"].clone()
    queries[D : 2 * D] = harness.weights(harness.sizes)["q_proj.weight"][D : 2 * D]
    new = module.set({"q_proj.weight": queries}).call(inputs)
    harness.ask()
    for block in (slice(0, D), slice(2 * D, None)):
        expect_close(new.out[..., block], old.out[..., block], "features of the other heads")
    expect_differs(new.out[..., D : 2 * D], old.out[..., D : 2 * D], "the features of the head")
    expect_close(new.out, new.expected, "features of all heads, without o_proj")


test_o_proj_mixes_the_merged_heads = attention.output_mixes_the_heads("o_proj")
test_padding_has_no_influence = attention.padding_has_no_influence
test_padding_gets_no_gradient = attention.padding_gets_no_gradient
test_sequence_with_nothing_to_read_gives_zeros = attention.nothing_to_read_gives_zeros
test_no_gradient_comes_from_a_sequence_with_nothing_to_read = (
    attention.nothing_to_read_gives_no_gradient
)
test_mask_dtypes_mean_the_same = attention.memory_mask_means_the_same_in_every_form
test_no_mask_hides_nothing = attention.no_memory_mask_hides_nothing


@points(1)
def test_shapes_that_are_alike_mean_nothing(harness: Harness) -> None:
    """Where B, T, S and H are equal, a mask on the wrong axes fits; and x may be its own memory."""
    calls = []
    for size in (2, 3):
        sizes = Sizes(B=size, T=size, S=size, C=5 * size, E=5 * size, H=size)
        module, every = harness.module(sizes), harness.every_input(sizes)[-1]
        if size > 2:  # one key of each sequence is hidden: two are left to weigh
            every["memory_mask"] = ~torch.eye(size, dtype=torch.bool).roll(1, dims=1)
        first = module.call(every)
        itself = {"x": first.handle("output"), "memory": first.handle("output")}
        calls += [first, module.call({**every, **itself})]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, f"output where B, T, S and H are {call.sizes.T}")


@points(2)
def test_batch_items_are_independent_on_both_sides(harness: Harness) -> None:
    """One sequence's queries, memory and mask must not reach another."""
    every, fresh = harness.every_input()[-1], harness.every_input()[-1]
    every["memory_mask"][0, :] = True
    fresh["memory_mask"][0, 1:] = False
    given = [every]
    for name, value in every.items():
        other = value.clone()
        other[0] = fresh[name][0]
        given.append({**every, name: other})
    first, *others = harness.module().calls(given)
    harness.ask()
    for name, call in zip(every, others, strict=True):
        expect_differs(call.out[0], first.out[0], f"the output of a sequence whose {name} changed")
        expect_close(
            call.out[1:],
            first.out[1:],
            f"output of sequences other than the one whose {name} changed",
        )


test_queries_are_treated_alike = claims.follows_a_permutation
test_order_of_the_memory_means_nothing = attention.order_of_the_memory_means_nothing


@points(1)
def test_large_scores_stay_finite(harness: Harness) -> None:
    """Exp overflows at 89 in float32: a softmax subtracts the largest score first.

    Who sees a single token sees it however far below 0 its score is.
    """
    module, calls, alone = harness.module(), [], []
    for inputs in harness.every_input():
        for factor in (60, -60):
            large = {"x": inputs["x"] * factor, "memory": inputs["memory"] * 60}
            calls.append(module.call({**inputs, **large}))
        large = {name: inputs[name] * 6000 for name in ("x", "memory")}
        B, S, _ = inputs["memory"].shape
        first = torch.arange(S, device=large["x"].device).expand(B, S) == 0
        alone.append(module.call({**large, "memory_mask": first}))
    harness.ask()
    for call in calls:
        expect_finite(call.out, "output for large scores")
        expect_close(call.out, call.expected, "output for large scores", 2e-2)
    for call in alone:
        expect_close(call.out, call.expected, "output of a single token of a large score")


test_gradients_of_the_inputs_are_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_inputs_are_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_mask_is_not_remembered = attention.memory_mask_is_not_remembered
test_single_query_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_memory_of_any_length = attention.memory_may_have_any_length
test_non_contiguous_inputs = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device
