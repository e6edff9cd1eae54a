"""decoder2: cross-attention, with padding among the keys."""

import torch
from torch import Tensor

from grader.attention import attention_map, mask_forms, merge_heads, split_heads
from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
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

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
LONG = 257
LOUD = 1e4  # far above what a token holds: a share of a thousandth of it shows
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
    arguments=lambda sizes: {
        "embed_dim": sizes.C,
        "num_heads": sizes.H,
        "memory_dim": sizes.E,
    },
    parameters=lambda sizes: {
        f"{name}.weight": (sizes.C, sizes.E if name in ("k_proj", "v_proj") else sizes.C)
        for name in LAYERS
    },
    oracle=attend,
    is_exact=lambda sizes: sizes.C // sizes.H in SQUARES,
)


def without_queries(weights: Weights) -> Weights:
    """The same weights; every query attends to all keys alike."""
    return {**weights, "q_proj.weight": weights["q_proj.weight"] * 0}


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are cut into H heads of the same size, or not at all."""
    for C, H in ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7)):
        for E in (C, H):  # the width of the memory may be any
            given = {"embed_dim": C, "num_heads": H, "memory_dim": E}
            claims.constructor_raises(harness, "ValueError", **given)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_matches_the_formula_under_a_mask = claims.matches_the_formula_with_everything_given


@points(2)
def test_scores_are_divided_by_the_root_of_the_head_size(harness: Harness) -> None:
    """Of two keys, the ratio of their weights gives back by how much their scores differ."""
    for sizes in (harness.sizes.replace(S=2), Sizes(B=2, T=7, S=2, C=22, E=13, H=2)):
        weights = harness.weights(sizes)
        weights["o_proj.weight"] = torch.eye(sizes.C, device=harness.device)
        call = harness.module(sizes, weights).call(harness.inputs(sizes))
        harness.ask()
        q, k, v = (
            split_heads(linear(call.right_weights, name, call.right_inputs[of]), sizes.H)
            for name, of in zip(LAYERS, ("x", "memory", "memory"), strict=False)
        )
        first, second = v[:, :, :1], v[:, :, 1:]  # (B, H, 1, D)
        out = split_heads(call.out.double().cpu(), sizes.H)  # (B, H, T, D)
        apart = first - second
        share = ((out - second) * apart).sum(-1) / apart.square().sum(-1)  # (B, H, T) of the first
        mine = share.clamp(1e-6, 1 - 1e-6).logit()
        products = (q @ (k[:, :, :1] - k[:, :, 1:]).mT).squeeze(-1)  # (B, H, T, 1) -> (B, H, T)
        found = float((mine * products).sum() / products.square().sum())
        scale = (sizes.C / sizes.H) ** -0.5
        says = f"expected scores of q·k × {scale:.4g}, got q·k × {found:.4g} ({sizes})"
        expect(abs(found / scale - 1) < 0.01, says)


@points(2)
def test_weights_of_each_query_sum_to_one(harness: Harness) -> None:
    """Where all tokens of the memory are the same, that token is what comes, whoever asks."""
    inputs = harness.inputs()
    inputs["memory"] = inputs["memory"][:, :1].expand(inputs["memory"].shape).contiguous()
    call = harness.module().call(inputs)
    harness.ask()
    expect_close(call.out, call.expected, "output for a memory of equal tokens")


@points(2)
def test_keys_and_values_are_read_from_the_memory(harness: Harness) -> None:
    """Without queries the output is the mean of the memory's values, whatever ``x`` is."""
    module = harness.module(weights=without_queries(harness.weights(harness.sizes)))
    inputs = harness.inputs()
    one, other = module.calls([inputs, {**inputs, "x": harness.input("x")}])
    harness.ask()
    expect_close(one.out, one.expected, "output where all keys weigh the same")
    expect_close(other.out, one.out, "output for another x, where all keys weigh the same")


@points(2)
def test_heads_are_blocks_of_consecutive_features(harness: Harness) -> None:
    """Other queries in the middle head change that head's block of features and no other."""
    D = harness.sizes.C // harness.sizes.H
    module, inputs = harness.module(), harness.inputs()
    before = module.set({"o_proj.weight": torch.eye(harness.sizes.C, device=harness.device)})
    old = before.call(inputs)
    queries = module.weights["q_proj.weight"].clone()
    queries[D : 2 * D] = harness.weights(harness.sizes)["q_proj.weight"][D : 2 * D]
    new = module.set({"q_proj.weight": queries}).call(inputs)
    harness.ask()
    for block in (slice(0, D), slice(2 * D, None)):
        expect_close(new.out[..., block], old.out[..., block], "features of the other heads")
    expect_differs(new.out[..., D : 2 * D], old.out[..., D : 2 * D], "the features of the head")
    expect_close(new.out, new.expected, "features of all heads, without o_proj")


@points(1)
def test_o_proj_mixes_the_merged_heads(harness: Harness) -> None:
    """The last projection is the only place where heads meet: at zero it leaves nothing."""
    weights = harness.weights(harness.sizes)
    weights["o_proj.weight"] *= 0
    call = harness.module(weights=weights).call(harness.inputs())
    harness.ask()
    expect_close(call.out, call.expected, "output with o_proj at zero")


@points(2)
def test_padding_has_no_influence(harness: Harness) -> None:
    """Whatever stands there, each sequence has its own."""
    every = harness.every_input()[-1]
    hidden = every["memory_mask"] == 0
    loud = [every["memory"].clone() for _ in range(3)]
    for memory, number in zip(loud, (0.0, LOUD, -LOUD), strict=True):
        memory[hidden] = number
    signs = every["memory"].clone()
    signs[hidden] = signs[hidden].sign() * LOUD
    first, *others = harness.module().calls(
        [every, *({**every, "memory": memory} for memory in (*loud, signs))]
    )
    harness.ask()
    for other in others:
        expect_close(other.out, first.out, "output for other numbers in the padding")


@points(2)
def test_padding_gets_no_gradient(harness: Harness) -> None:
    """Not a small one: none."""
    every = harness.every_input()[-1]
    hidden = every["memory_mask"] == 0
    loud = every["memory"].clone()
    loud[hidden] *= 100
    grad_output = harness.draw.normal(*harness.sizes.shape("B T C"))
    calls = [
        harness.module().call({**every, "memory": memory}, grad_output=grad_output)
        for memory in (every["memory"], loud)
    ]
    harness.ask()
    for call in calls:
        grad = call.gradients["memory"]
        expect(grad is not None, "`memory` gets no gradient at all")
        worst = float(grad.cpu()[hidden.cpu()].abs().max())  # type: ignore[union-attr]  # is there
        expect(worst == 0, f"gradient of hidden positions of memory: expected 0, got {worst:.4g}")
        expect_differs(grad, grad * 0, "the gradient of the other positions")  # type: ignore[operator]  # is there


def _with_an_empty_one(harness: Harness) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Inputs whose middle sequence has nothing to read, and the same ones without it."""
    sizes = harness.sizes.replace(B=3)
    whole = {**harness.inputs(sizes), "memory_mask": harness.input("memory_mask", sizes)}
    whole["memory_mask"][1] = False
    return whole, {name: value[[0, 2]] for name, value in whole.items()}


@points(2)
def test_sequence_with_nothing_to_read_gives_zeros(harness: Harness) -> None:
    """Exact zeros, of neither a mean of the padding nor NaN; the others are as without it."""
    module, (whole, rest) = harness.module(), _with_an_empty_one(harness)
    none = {**rest, "memory_mask": rest["memory_mask"] & False}
    calls = module.calls([whole, rest, none, {n: value[:1] for n, value in none.items()}])
    trained = module.train().call(whole)
    harness.ask()
    both, alone, *nothing = calls
    parts = [both.out[1], trained.out[1], *(call.out for call in nothing)]
    for out in parts:
        expect_finite(out, "output of a sequence whose keys are all hidden")
        largest = float(out.abs().max())
        expect(largest == 0, f"a sequence whose keys are all hidden: expected 0, got {largest:.4g}")
    expect_close(both.out[[0, 2]], alone.out, "output of the other sequences")
    expect_differs(alone.out, alone.out * 0, "the output of the other sequences")


@points(2)
def test_no_gradient_comes_from_a_sequence_with_nothing_to_read(harness: Harness) -> None:
    """Nothing in it learns, and what all sequences share learns from the others alone."""
    module, (whole, rest) = harness.module(), _with_an_empty_one(harness)
    grad_output = harness.draw.normal(*harness.sizes.replace(B=3).shape("B T C"))
    both = module.call(whole, grad_output=grad_output)
    alone = module.call(rest, grad_output=grad_output[[0, 2]])
    none = {**whole, "memory_mask": whole["memory_mask"] & False}
    nothing = module.train().call(none, grad_output=grad_output)
    harness.ask()
    for name, grad in alone.gradients.items():
        found, left = both.gradients[name], nothing.gradients[name]
        expect(None not in (grad, found, left), f"`{name}` gets no gradient")
        assert grad is not None  # or the check has failed
        assert found is not None
        assert left is not None
        expect_finite(found, f"gradient of {name}, where all keys of one sequence are hidden")
        expect(not bool(left.any()), f"gradient of {name}: expected 0, where all keys are hidden")
        if name in contract.inputs:
            expect(not bool(found[1].any()), f"gradient of {name}: expected 0 where all is hidden")
            found = found[[0, 2]]
        expect_close(found, grad, f"gradient of {name}, beside a sequence of hidden keys", 1e-4)


@points(1)
def test_mask_dtypes_mean_the_same(harness: Harness) -> None:
    """Nonzero is a real token, in whatever dtype and however large; zero is padding."""
    every = harness.every_input()[-1]
    mask = every["memory_mask"].cpu()
    written = [
        write(harness.draw, mask)
        for _ in range(3)
        for write in contract.inputs["memory_mask"].forms.values()
    ]
    first, *others = harness.module().calls(
        [every, *({**every, "memory_mask": one.to(harness.device)} for one in written)]
    )
    harness.ask()
    for other, one in zip(others, written, strict=True):
        dtype = str(one.dtype).removeprefix("torch.")
        expect_close(other.out, first.out, f"output under the same mask as {dtype}")


@points(1)
def test_no_mask_hides_nothing(harness: Harness) -> None:
    """None, by position or by name, is what leaving it out is, and what ones are."""
    module, inputs = harness.module(), harness.inputs()
    ones = torch.ones(harness.sizes.shape("B S"), device=harness.device)
    left_out = module.call(inputs)
    given = [
        module.call({**inputs, "memory_mask": ones}, by_keyword=names)
        for names in ((), ("memory_mask",))
    ]
    x, memory = inputs.values()
    nones = module.batch.call(
        module.made or contract.entry,
        [((x, memory, None), {}), ((x, memory), {"memory_mask": None})],
    )
    named = module.call(harness.every_input()[-1], by_keyword=("x", "memory", "memory_mask"))
    harness.ask()
    for call in given:
        expect_close(call.out, left_out.out, "output under a mask of ones")
    for place in range(2):
        expect_close(nones.result(place), left_out.out, "output for None as the mask")
    expect_close(named.out, named.expected, "output where all is given by name")


@points(1)
def test_mask_is_of_sequences_and_keys_whatever_the_sizes(harness: Harness) -> None:
    """Where B, T, S and H are alike, a mask of another shape would fit as well."""
    for size in (2, 3):
        sizes = Sizes(B=size, T=size, S=size, C=5 * size, E=7, H=size)
        call = harness.module(sizes).call(harness.every_input(sizes)[-1])
        harness.ask()
        expect_close(call.out, call.expected, f"output where B, T, S and H are {size}")


@points(2)
def test_batch_items_are_independent_on_both_sides(harness: Harness) -> None:
    """What one sequence asks, reads or hides must not reach another."""
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
            call.out[1:], first.out[1:], f"output of others than the one whose {name} changed"
        )


test_queries_are_treated_alike = claims.follows_a_permutation


@points(1)
def test_order_of_the_memory_means_nothing(harness: Harness) -> None:
    """Keys in another order, with their mask, are the same keys."""
    order = harness.draw.order(harness.sizes.S)
    calls = []
    for inputs in harness.every_input():
        moved = {n: inputs[n].index_select(1, order) for n in inputs if n != "x"}
        calls.append(harness.module().calls([inputs, {**inputs, **moved}]))
    harness.ask()
    for before, after in calls:
        expect_differs(before.out[:, 1:], before.out[:, :-1], "the outputs of different queries")
        expect_close(after.out, before.out, "output for a memory in another order")


@points(1)
def test_large_scores_stay_finite(harness: Harness) -> None:
    """Exp overflows at 89 in float32: a softmax subtracts the largest score first."""
    module = harness.module()
    calls = [
        module.call({**inputs, "x": inputs["x"] * factor, "memory": inputs["memory"] * 60})
        for inputs in harness.every_input()
        for factor in (60, -60)
    ]
    harness.ask()
    for call in calls:
        expect_finite(call.out, "output for large scores")
        expect_close(call.out, call.expected, "output for large scores", 2e-2)


test_gradients_of_the_inputs_are_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_inputs_are_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing


@points(1)
def test_mask_is_not_remembered(harness: Harness) -> None:
    """Neither as such nor by where it lies: the same tensor may be filled anew."""
    module, every = harness.module(), harness.every_input()[-1]
    other = {**every, "memory_mask": every["memory_mask"].roll(1, -1)}
    plain = {name: value for name, value in every.items() if name != "memory_mask"}
    calls = module.calls([every, other, plain, every])
    refilled = module.calls([other, every], refills=True)
    harness.ask()
    for call in (*calls, refilled[1]):
        expect_close(call.out, call.expected, "output after a call with another mask")


test_single_query_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence


@points(1)
def test_memory_of_any_length(harness: Harness) -> None:
    """A single token is all there is; a memory that is said over and over is said once."""
    lone = harness.sizes.replace(S=1)
    one = harness.module().call(harness.inputs(lone))
    said = []
    for S, times in ((harness.sizes.S, 19), (1, LONG)):
        for inputs in harness.every_input(harness.sizes.replace(S=S)):
            often = {n: torch.cat([inputs[n]] * times, dim=1) for n in inputs if n != "x"}
            said.append(harness.module().calls([inputs, {**inputs, **often}]))
    harness.ask()
    expect_close(one.out, one.expected, "output for a memory of one token")
    for once, many in said:
        expect_close(many.out, once.out, f"output for a memory of {many.sizes.S} tokens")


test_non_contiguous_inputs = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device
