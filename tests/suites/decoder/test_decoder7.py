"""decoder7: a sliding window, and a cache that rolls."""

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
from grader.suite import (
    Harness,
    Input,
    PlannedCall,
    Sizes,
    SubmissionError,
    Weights,
    claims,
    expect,
    expect_close,
    expect_differs,
    fail,
    linear,
    points,
)
from grader.suite.claims.caches import conversations_are_apart, in_parts, keeps_no_more_alive
from grader.suite.claims.devices import expect_on_any_device

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
HUGE = 1e30  # whose products with ordinary numbers are finite in float32
LOUD = 1e15  # whose square is
DTYPES = (torch.float32, torch.float64, torch.bfloat16)
# Dtype, mode, T, window and where it is loud; behind a window of 131, bfloat16 has no place 331.
LOUD_AT = (
    *((dtype, mode, 11, 3, 4) for dtype in DTYPES for mode in (False, True)),
    *((dtype, False, 257, 131, 201) for dtype in (torch.float32, torch.bfloat16)),
)
ENDLESS = 10**9  # a window of which nothing can be as large
LONG = Sizes(B=1, T=23, C=6, H=2, S=1100, W=ENDLESS)  # beyond tables of the usual lengths
MOST = 150_000  # scores of a situation, where one sequence of a few heads has no more
SQUARES = (1, 4, 16)  # head sizes whose root no dtype rounds
# One token at a time, several, more than the window, and all of these.
PARTS = ((1,) * 11, (4, 3, 4), (1, 9, 1, 1), (7, 1, 5, 1, 1, 8, 2))
# Many tokens at once, and then few: at the last sizes a slice is contiguous.
KEPT = (
    (Sizes(B=2, T=1, C=15, H=3, W=3), (41, 1, 1)),
    (Sizes(B=1, T=1, C=7, H=1, W=5), (101, 1, 37)),
    (Sizes(B=1, T=1, C=8, H=2, W=1), (1, 29)),
    (Sizes(B=3, T=1, C=5, H=5, W=7), (2, 3, 67)),
    (Sizes(B=1, T=1, C=6, H=2, W=17), (43, 47)),  # a little more than twice, then than thrice
    (Sizes(B=2, T=1, C=4, H=2, W=2), (257, 1)),
)


def attend(
    weights: Weights,
    sizes: Sizes,
    x: Tensor,
    keys: Tensor | None = None,
    values: Tensor | None = None,
) -> dict[str, Tensor]:
    """Heads of softmax(q·kᵀ/√D)·v over the window, concatenated, then o_proj; and the cache."""
    q, k, v = (split_heads(linear(weights, name, x), sizes.H) for name in LAYERS[:3])
    if keys is not None and values is not None:
        k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
    places = torch.arange(k.size(2))
    distance = places[-x.size(1) :, None] - places
    seen = (distance >= 0) & (distance < sizes.W)
    mixed = attention_map(q, k, q.size(-1) ** -0.5, seen) @ v
    return {
        "output": linear(weights, "o_proj", merge_heads(mixed)),
        "keys": k[:, :, -sizes.W :],
        "values": v[:, :, -sizes.W :],
    }


def derived(sizes: Sizes) -> Sizes:
    """No cache holds more than a window, neither before a call, S tokens, nor after it, N."""
    S = min(sizes.get("S", 0), sizes.W)
    return sizes.replace(S=S, N=min(S + sizes.T, sizes.W), D=sizes.C // sizes.H)


def with_window(window: Callable[[Sizes], int]) -> AttentionContract:
    """The contract with another window, by the other sizes; of what is long there is less."""

    def fitting(sizes: Sizes) -> Sizes:
        few = with_few_scores(sizes, MOST)
        return few.replace(W=max(1, window(few)))

    return replace(plain, fit=fitting)


CACHED = Input("B H S D", optional=True, length="S")
plain = AttentionContract(
    entry="SlidingWindowAttention",
    sizes=(
        Sizes(B=2, T=7, C=15, H=3, S=2, W=3),
        Sizes(B=3, T=5, C=7, H=1, S=3, W=4),
        Sizes(B=2, T=3, C=14, H=2, S=5, W=5),
        Sizes(B=3, T=2, C=5, H=5, S=1, W=1),
    ),
    inputs={"x": Input("B T C"), "keys": CACHED, "values": CACHED},
    outputs={"output": "B T C", "keys": "B H N D", "values": "B H N D"},
    tuples={"cache": ("keys", "values")},
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H, "window": sizes.W},
    parameters=lambda sizes: {f"{name}.weight": (sizes.C, sizes.C) for name in LAYERS},
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
    is_exact=lambda sizes: sizes.C // sizes.H in SQUARES,
    derived=derived,
    tried=False,
)
contract = replace(
    plain,
    tried=True,
    variants={
        "a window far below T": with_window(lambda sizes: sizes.T // 3),
        "window = 1": with_window(lambda sizes: 1),
        "window = 2": with_window(lambda sizes: 2),
        "window = T - 1": with_window(lambda sizes: sizes.T - 1),
        "window = T": with_window(lambda sizes: sizes.T),
        "window = T + 1": with_window(lambda sizes: sizes.T + 1),
        "a window that fills up": with_window(lambda sizes: sizes.S + sizes.T // 2),
        "window = S + T": with_window(lambda sizes: sizes.S + sizes.T),
        "a window far above S + T": with_window(lambda sizes: 2 * (sizes.S + sizes.T) + 50),
    },
)

test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(2)
def test_state_holds_the_parameters_alone(harness: Harness) -> None:
    """A state saved with one window can be loaded with another, after calls as well."""
    wider = harness.sizes.replace(W=harness.sizes.W + 2)
    module, other = harness.module(), harness.module(wider, {})
    inputs = harness.inputs(None, *harness.contract.optional)
    before = module.call(inputs)
    saved, also = (one.call({}, method="state_dict") for one in (module, other))
    state = saved.output_reference()
    _ = harness.batch.call(other.made, [((state,), {})], method="load_state_dict")
    loaded = other.call({"x": inputs["x"]})
    expected = harness.module(wider, module.weights).call({"x": inputs["x"]})
    harness.ask()
    _ = before.outs
    own = module.own_names
    more = [name for call in (saved, also) for name in call.result if name not in own]
    expect(not more, f"expected no `{''.join(more[:1])}` in the state: it is not a parameter")
    expect_close(loaded.out, expected.out, "output of a module of another window after loading")


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """C features are split into H heads of equal size, or not at all."""
    pairs = ((15, 4), (14, 4), (12, 5), (9, 2), (3, 7))
    every = [{"embed_dim": C, "num_heads": H} for C, H in pairs]
    claims.constructor_raises_for_each(harness, "ValueError", every)


@points(1)
def test_window_below_one_is_a_value_error(harness: Harness) -> None:
    """A token that does not even see itself has nothing to mix."""
    every = [{"window": window} for window in (0, -1, -13)]
    claims.constructor_raises_for_each(harness, "ValueError", every)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_output_matches_behind_a_cache = claims.matches_the_formula_with_everything_given
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one
test_without_queries_each_token_has_the_mean_of_its_window = (
    attention.attends_all_alike_without_queries
)
test_heads_are_blocks_of_consecutive_features = attention.heads_are_blocks("q_proj", "o_proj")
test_o_proj_mixes_the_concatenated_heads = attention.output_mixes_the_heads("o_proj")


@points(3)
def test_window_ends_at_its_last_token(harness: Harness) -> None:
    """Changing a token changes the outputs in one window from its place on, and no others."""
    planned = []
    for W, place, B in ((1, 3, 2), (2, 0, 23), (3, 4, 3), (3, 0, 1), (5, 2, 2), (8, 1, 67)):
        sizes = harness.sizes.replace(B=B, T=11, W=W)
        inputs, fresh = harness.inputs(sizes), harness.inputs(sizes)
        other = inputs["x"].clone()
        other[:, place] = 3 * fresh["x"][:, place]
        before, after = harness.module(sizes).calls([inputs, {"x": other}])
        planned.append((W, place, before, after))
    harness.ask()
    for W, place, before, after in planned:
        for t in range(11):
            new, old = after.out[:, t], before.out[:, t]
            where = f"the output at {t}, where the token at {place} has changed, at window = {W}"
            if 0 <= t - place < W:
                expect_differs(new, old, where)
            else:
                expect_close(new, old.double(), where)


@points(2)
def test_gradient_ends_at_the_window(harness: Harness) -> None:
    """An output sends gradients to the tokens that it saw, also in the cache, and to no others."""
    for W, T, t in ((1, 5, 2), (3, 7, 5), (4, 3, 0), (5, 9, 4), (5, 9, 8)):
        sizes = harness.sizes.replace(T=T, W=W, S=W)
        inputs = harness.inputs(sizes, "keys", "values")
        grad_output = torch.zeros(sizes.B, T, sizes.C)
        grad_output[:, t] = harness.draw.normal(sizes.B, sizes.C)
        call = harness.module(sizes).call(inputs, grad_output=grad_output)
        harness.ask()
        seen = range(max(0, W + t - W + 1), W + t + 1)  # counted from the oldest in the cache
        for name, first in (("keys", 0), ("values", 0), ("x", W)):
            _expect_gradient_at(call, name, [place - first for place in seen], f"window = {W}")


def _expect_gradient_at(call: PlannedCall, name: str, places: list[int], at: str) -> None:
    """A gradient of exactly 0 at all places but these."""
    axis = 1 if name == "x" else 2
    size = call.inputs[name].size(axis)  # type: ignore[union-attr]  # a tensor that was drawn
    inside = [place for place in places if 0 <= place < size]
    grad, right = call.gradients[name], call.right_gradients[name]
    if grad is None:
        expect(not inside, f"{name} gets no gradient at {at}")
        return
    outside = [place for place in range(size) if place not in inside]
    rest = grad.index_select(axis, torch.tensor(outside, dtype=torch.int64, device=grad.device))
    expect(not bool(rest.any()), f"gradient of {name} outside the window: expected 0 at {at}")
    expect_close(grad, right, f"gradient of {name} at {at}", 1e-4)


@points(2)
def test_no_longer_than_the_window_is_causal(harness: Harness) -> None:
    """A window that never fills up has no effect and, however large it is, costs nothing."""
    inputs = harness.inputs()
    T = harness.sizes.T
    calls = [
        harness.module(harness.sizes.replace(W=W), weights).call(inputs)
        for weights in [harness.weights(harness.sizes)]
        for W in (T, T + 1, 131, ENDLESS)
    ]
    long = harness.within_reach(LONG)
    calls.append(harness.module(long).call(harness.inputs(long, "keys", "values")))
    harness.ask()
    for call in calls:
        T, W = call.sizes.T, call.sizes.W
        try:
            expect_close(call.out, call.expected, f"output at T = {T}, window = {W}")
        except SubmissionError as error:
            if "memory" not in error.fault.message.lower():
                raise
            fail(f"a window of {W} asks for more memory than there is, at T = {T}")


@points(1)
def test_window_of_one_sees_itself_alone(harness: Harness) -> None:
    """One weight of 1: the output is o_proj(v_proj(x)), whatever came before."""
    sizes = harness.sizes.replace(W=1)
    module, calls = harness.module(sizes), []
    for T in (1, 7, 131):
        plain = harness.inputs(sizes.replace(T=T))
        calls += [module.call(plain), module.call({**plain, **_some_cache(harness, sizes)})]
    harness.ask()
    for call in calls:
        right = linear(call.right_weights, "v_proj", call.right_inputs["x"])
        right = linear(call.right_weights, "o_proj", right)
        expect_close(call.out, right, f"output at window = 1, T = {call.sizes.T}")


def _some_cache(harness: Harness, sizes: Sizes) -> dict[str, Tensor]:
    full = sizes.replace(S=sizes.W)
    return {name: harness.input(name, full) for name in ("keys", "values")}


@points(3)
def test_token_by_token_is_as_at_once(harness: Harness) -> None:
    """This is how text is generated: the past is in the cache and is never recomputed."""
    every = [(harness.sizes.replace(W=W), PARTS[0]) for W in (1, 2, 3, 5, 11, 12, 40)]
    claims.parts_agree_with_the_whole(harness, every, learns=False)


@points(3)
def test_part_by_part_is_as_at_once(harness: Harness) -> None:
    """Several tokens at once see the cache, but among themselves only the past."""
    sizes, usual = harness.sizes, harness.sizes.usual().replace(W=48)
    every = [(sizes.replace(W=W), some) for W in (2, 4, 5, 9, 30) for some in PARTS[1:]]
    every += [(usual.replace(H=H), (60, 1, 70, 1, 2)) for H in (4, 1)]
    claims.parts_agree_with_the_whole(harness, every, learns=False)


@points(2)
def test_gradients_flow_through_the_cache(harness: Harness) -> None:
    """With a detached cache, only the last part is learned from."""
    wider = [sizes.replace(W=sizes.W + 2) for sizes in harness.contract.sizes[:2]]
    every = [(sizes, some) for sizes in wider for some in ((3, 1, 1, 2), (2, 5, 1), (1,) * 6)]
    claims.parts_agree_with_the_whole(harness, every, torch.float64)


@points(1)
def test_cache_is_of_the_dtype_of_x(harness: Harness) -> None:
    """A cache in another dtype takes more memory or changes the next output."""
    every = [(harness.sizes, PARTS[1])]
    for dtype in DTYPES:
        claims.parts_agree_with_the_whole(harness, every, dtype, learns=False)


@points(2)
def test_cache_holds_the_last_tokens_of_a_window(harness: Harness) -> None:
    """As many as there are, up to a window, the oldest first, and none twice."""
    calls = []
    for W, T in ((3, 1), (3, 2), (3, 3), (3, 4), (3, 11), (1, 5), (8, 7), (5, 131)):
        sizes = harness.sizes.replace(W=W, T=T)
        module, plain = harness.module(sizes), harness.inputs(sizes)
        calls += [module.call(plain), module.call({**plain, **_some_cache(harness, sizes)})]
        if W > 2:
            few = {name: held[:, :, -2:] for name, held in _some_cache(harness, sizes).items()}
            calls.append(module.call({**plain, **few}))
    harness.ask()
    for call in calls:
        for name in ("keys", "values"):
            expect_close(call.outs[name], call.right_outputs[name], f"{name} in the cache")


@points(2)
def test_cache_does_not_grow(harness: Harness) -> None:
    """After many tokens it holds, and keeps alive, as much as after one window."""
    sizes = harness.sizes.replace(W=5)
    inputs = harness.inputs(sizes.replace(T=41))
    parts = in_parts(harness.module(sizes), inputs, (1,) * 41)
    harness.ask()
    _ = [part.outs for part in parts]  # are of the sizes that the contract says
    keeps_no_more_alive(harness, KEPT)


@points(2)
def test_several_calls_go_on_from_one_cache(harness: Harness) -> None:
    """Two continuations are tried from one beginning, and neither knows of the other."""
    for W, first in ((3, 2), (3, 7), (5, 5), (1, 3), (9, 4)):
        one = harness.of(replace(plain, sizes=(harness.sizes.replace(W=W),)))
        claims.branches_agree(one, first, (1, 1, 2), (4,), (1, 6))


@points(2)
def test_conversations_in_turns_know_nothing_of_each_other(harness: Harness) -> None:
    """All that is known of the past is in the cache, nothing in the module."""
    conversations_are_apart(harness, (3, 1, 1, 1), (1, 4, 1), (5, 1))


test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient


@points(2)
def test_huge_numbers_outside_the_window_change_nothing(harness: Harness) -> None:
    """A weight that is only nearly 0 shows once it is multiplied by 1e30."""
    pairs = []
    for dtype, mode, T, W, place in LOUD_AT:
        sizes = harness.sizes.replace(W=W, T=T)
        module = harness.module(sizes).train(mode).to(dtype)
        held = {n: one.to(dtype) for n, one in _some_cache(harness, sizes).items()}
        x = harness.input("x", sizes).to(dtype)
        huge, over = x.clone(), {name: one.clone() for name, one in held.items()}
        huge[:, place] *= HUGE
        for one in over.values():
            one[:, :, 0] *= HUGE
        plain, behind = module.call({"x": x}), module.call({"x": x, **held})
        pairs.append((plain, module.call({"x": huge}), place))
        pairs.append((behind, module.call({"x": huge, **held}), place))
        pairs.append((behind, module.call({"x": x, **over}), -W))
    harness.ask()
    for before, call, at in pairs:
        W = call.sizes.W
        unseen = [t for t in range(call.sizes.T) if not 0 <= t - at < W]
        right = before.out[:, unseen].double()
        expect_close(call.out[:, unseen], right, "output where huge numbers are out of sight")


@points(1)
def test_loud_tokens_outside_the_window_teach_nothing(harness: Harness) -> None:
    """What is not seen has no effect on what is learned."""
    W, T, place = 3, 11, 4
    sizes = harness.sizes.replace(W=W, T=T)
    x = harness.input("x", sizes)
    loud = x.clone()
    loud[:, place] *= LOUD
    grad_output = harness.draw.normal(*x.shape)
    grad_output[:, place : place + W] = 0
    module = harness.module(sizes)
    usual, other = (module.call({"x": one}, grad_output=grad_output) for one in (x, loud))
    harness.ask()
    for name, right in usual.gradients.items():
        got = other.gradients[name]
        if got is None or right is None:
            fail(f"{name} gets no gradient")
        expect_close(got, right.double(), f"gradient of {name} beside a loud token", 1e-4)


@points(1)
def test_no_score_is_below_a_hidden_one(harness: Harness) -> None:
    """A token that sees only itself does so however far below 0 its score is."""
    sizes = harness.sizes.replace(W=1)
    weights = harness.weights(sizes)
    weights["k_proj.weight"] = -weights["q_proj.weight"]
    calls = []
    for T, dtype, mode in itertools.product((7, 131), DTYPES, (False, True)):
        x = harness.input("x", sizes.replace(T=T)) * 2000
        module = harness.module(sizes, weights).train(mode).to(dtype)
        calls.append(module.call({"x": x.to(dtype)}))
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "output at window = 1")


test_batch_items_are_independent = claims.batch_items_are_independent
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradients_of_the_inputs_are_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_inputs_are_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence_from_its_start
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16


@points(1)
def test_no_tensor_is_pinned_to_a_device(harness: Harness) -> None:
    """A mask made without ``device=`` stays on the CPU.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.
    """
    every = harness.every_input()
    every += [harness.every_input(harness.sizes.replace(T=T))[-1] for T in (1, 2, 131)]
    expect_on_any_device(harness, every)
