"""decoder1: causal multi-head self-attention."""

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
from grader.suite import (
    Harness,
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
from grader.suite.claims.devices import ELSEWHERE, expect_on_any_device
from grader.suite.claims.structure import expect_refusal

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj")
LONGEST = 263  # is prime, and more than what any shared claim asks for
HUGE = 1e30  # whose products with ordinary numbers are finite in float32
LONG = Sizes(B=1, T=1031, C=4, H=1, L=1031)
FAR = Sizes(B=1, T=521, C=8, H=2, L=521)
TIED = 514  # is 512 in bfloat16, as its neighbours are
LOUD = 1e15  # whose square is
EXACT = 1e-9  # in float64, where √D is a whole number
DTYPES = (torch.float32, torch.float64, torch.bfloat16)
# T, max_len, B and dtype of what is refused.
TOO_LONG = (
    (37, 11, 1, torch.float64),
    (12, 11, 2, torch.float32),
    (2, 1, 3, torch.bfloat16),
    (29, 13, 5, torch.float32),
)


def attend(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    """Heads of softmax(q·kᵀ/√D)·v over the past, concatenated, then o_proj."""
    q, k, v = (split_heads(linear(weights, name, x), sizes.H) for name in LAYERS[:3])
    past = torch.ones(x.size(1), x.size(1)).tril()
    heads = attention_map(q, k, q.size(-1) ** -0.5, past) @ v
    return linear(weights, "o_proj", merge_heads(heads))


def up_to(longest: Callable[[Sizes], int]) -> AttentionContract:
    """The contract with another ``max_len``, L, by the other sizes."""
    return replace(plain, fit=lambda sizes: sizes.replace(L=longest(sizes)))


plain = AttentionContract(
    entry="CausalSelfAttention",
    sizes=(
        Sizes(B=2, T=7, C=15, H=3, L=LONGEST),
        Sizes(B=3, T=5, C=7, H=1, L=5),
        Sizes(B=2, T=3, C=14, H=2, L=11),
        Sizes(B=3, T=2, C=5, H=5, L=3),
    ),
    arguments=lambda sizes: {"embed_dim": sizes.C, "num_heads": sizes.H, "max_len": sizes.L},
    parameters=lambda sizes: {f"{name}.weight": (sizes.C, sizes.C) for name in LAYERS},
    oracle=attend,
    scale=lambda sizes: (sizes.C / sizes.H) ** -0.5,
    value_vectors=values_of_heads("v_proj", "o_proj"),
    zero_queries=lambda weights: {**weights, "q_proj.weight": weights["q_proj.weight"] * 0},
    tried=False,
)
contract = replace(
    plain,
    tried=True,
    variants={
        "max_len = T": up_to(lambda sizes: sizes.T),
        "max_len = T + 1": up_to(lambda sizes: sizes.T + 1),
        "max_len far above T": up_to(lambda sizes: 2 * sizes.T + 50),
    },
)
one_head = replace(plain, sizes=(Sizes(B=3, T=5, C=7, H=1, L=LONGEST),))

test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(2)
def test_state_holds_the_parameters_alone(harness: Harness) -> None:
    """A state saved with one ``max_len`` can be loaded with another."""
    shorter = harness.sizes.replace(T=13, L=17)
    module, other = harness.module(), harness.module(shorter, {})
    saved, also = (one.call({}, method="state_dict") for one in (module, other))
    state = saved.output_reference("output")
    _ = harness.batch.call(other.made, [((state,), {})], method="load_state_dict")
    inputs = harness.inputs(shorter)
    loaded = other.call(inputs)
    expected = harness.module(shorter, module.weights).call(inputs)
    harness.ask()
    own = module.own_names
    more = [name for call in (saved, also) for name in call.result if name not in own]
    expect(not more, f"expected no `{''.join(more[:1])}` in the state: it is not a parameter")
    expect_close(loaded.out, expected.out, "output of a module of another max_len after loading")


test_heads_that_do_not_divide_are_a_value_error = attention.refuses_heads_that_do_not_divide


@points(2)
def test_longer_than_max_len_is_a_value_error(harness: Harness) -> None:
    """More tokens than ``max_len`` are refused, in any mode; a call that fits afterwards is not."""
    for T, L, B, dtype in TOO_LONG:
        sizes = harness.sizes.replace(B=B, L=L)
        for learns in (False, True):
            module = harness.module(sizes).train(learns).to(dtype)
            x = harness.inputs(sizes.replace(T=T))["x"].to(dtype)
            call = module.call({"x": x}, grad_output=x if learns else None)
            harness.ask()
            given = f"a call with T = {T} at max_len = {L}"
            expect_refusal(lambda call=call: call.result, "ValueError", given, T, L)
            fits = module.call({"x": x[:, :L]})
            harness.ask()
            expect_close(fits.out, fits.expected, "output after a call that was refused")


@points(2)
def test_any_length_up_to_max_len(harness: Harness) -> None:
    """If a mask is made for the longest sequence, its first rows and columns are used."""
    calls = []
    for T, L in ((1, 1), (1, 19), (2, 19), (18, 19), (19, 19), (19, LONGEST)):
        sizes = harness.sizes.replace(T=T, L=L)
        calls.append(harness.module(sizes).call(harness.inputs(sizes)))
    many = harness.sizes.replace(B=23, T=3, L=3)  # sequences, of which there may be any number
    for sizes in (many, harness.within_reach(LONG)):
        calls.append(harness.module(sizes).call(harness.inputs(sizes)))
    harness.ask_for(calls)
    for call in calls:
        given = f"T = {call.sizes.T}, max_len = {call.sizes.L}"
        try:
            expect_close(call.out, call.expected, f"output at {given}")
        except SubmissionError as error:
            if error.todo or "ValueError" not in error.kinds:
                raise
            fail(f"{given}: expected an output, it is refused: {error.message}")


@points(1)
def test_longest_sequence_is_learned_from(harness: Harness) -> None:
    """A text of hundreds of tokens has right gradients in full precision."""
    sizes = harness.within_reach(FAR, learns=True)
    x = harness.input("x", sizes).double()
    grad_output = harness.draw.normal(*x.shape).double()
    module = harness.module(sizes).train().to(torch.float64)
    call = module.call({"x": x}, grad_output=grad_output)
    harness.ask_for([call])
    what = f"at T = {sizes.T}, in float64"
    expect_close(call.out, call.expected, f"output {what}", EXACT)
    for name, right in call.right_gradients.items():
        got = call.gradients[name]
        if got is None:
            fail(f"{name} gets no gradient {what}")
        expect_close(got, right, f"gradient of {name} {what}", EXACT)


@points(1)
def test_scores_are_no_more_than_the_tokens_need(harness: Harness) -> None:
    """T tokens take T × T scores, not T × ``max_len``, let alone ``max_len`` × ``max_len``.

    Of what a call makes, scores alone grow with both the sequences and the heads.
    """
    T, L, (B, more_B), (H, more_H) = 8, 2048, (2, 13), (1, 4)
    calls = []
    for mode, sequences, heads in itertools.product((False, True), (B, more_B), (H, more_H)):
        sizes = Sizes(B=sequences, T=T, C=4, H=heads, L=L)
        module = harness.module(sizes).train(mode)
        calls.append(module.call(harness.inputs(sizes), report_counts=True))
    harness.ask_for(calls)
    for call in calls:
        expect_close(call.out, call.expected, f"output at T = {T}, max_len = {L}")
    for each in (calls[:4], calls[4:]):
        few, more, many, most = (call.numbers_made for call in each)
        scores = (most - many - more + few) // ((more_B - B) * (more_H - H))
        expect(
            scores < T * L / 2,
            f"for {T} tokens at max_len = {L} each head of a sequence makes {scores:,} numbers: "
            f"expected {T} × {T} scores",
        )


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_scores_are_divided_by_the_root_of_the_head_size = attention.scores_are_scaled
test_weights_of_each_query_sum_to_one = attention.weights_sum_to_one


@points(2)
def test_values_are_mixed_not_the_input(harness: Harness) -> None:
    """With all queries at zero, one head gives the mean of the values so far."""
    attention.attends_all_alike_without_queries(harness.of(one_head))


test_heads_are_blocks_of_consecutive_features = attention.heads_are_blocks("q_proj", "o_proj")


@points(2)
def test_heads_are_merged_back_token_by_token(harness: Harness) -> None:
    """With all queries at zero each token gets the mean so far; a lost transpose mixes tokens."""
    attention.attends_all_alike_without_queries(harness)


test_o_proj_mixes_the_merged_heads = attention.output_mixes_the_heads("o_proj")
test_future_has_no_influence = claims.future_has_no_influence
test_future_gets_no_gradient = claims.future_gets_no_gradient


@points(2)
def test_huge_numbers_in_the_future_change_nothing(harness: Harness) -> None:
    """A weight that is only nearly 0 shows once it is multiplied by 1e30."""
    T = harness.sizes.T
    seen = T // 2
    inputs = harness.inputs()
    grad_output = harness.draw.normal(*inputs["x"].shape)
    grad_output[:, seen:] = 0
    module = harness.module()
    usual = module.call(inputs, grad_output=grad_output)
    long = harness.within_reach(FAR.replace(C=4, H=1), 2)
    tied = min(TIED, long.T - 5)
    louder = module.call(_later(inputs, seen, LOUD), grad_output=grad_output)
    huge = [(t, usual, module.call(_later(inputs, t, HUGE))) for t in range(1, T)]
    for dtype in DTYPES:
        cast = {"x": inputs["x"].to(dtype)}
        for mode in (False, True):
            module = harness.module().train(mode).to(dtype)
            huge.append((seen, module.call(cast), module.call(_later(cast, seen, HUGE))))
    weights, far = harness.weights(long), harness.input("x", long).bfloat16()
    weights["k_proj.weight"] = weights["q_proj.weight"]  # so the token before scores them above 0
    alike = torch.cat([far[:, :tied], far[:, tied - 1 : tied].expand(-1, long.T - tied, -1)], 1)
    module = harness.module(long, weights).to(torch.bfloat16)
    huge.append((tied, module.call({"x": far}), module.call(_later({"x": alike}, tied, HUGE))))
    harness.ask()
    for t, before, call in huge:
        expect_close(call.out[:, :t], before.out[:, :t], f"output before huge numbers at {t}")
    for name, right in usual.gradients.items():
        got = louder.gradients[name]
        if got is None or right is None:
            fail(f"{name} gets no gradient")
        what = f"gradient of {name} through outputs before huge numbers"
        expect_close(got, right, what, 1e-4)


def _later(inputs: dict[str, Tensor], seen: int, factor: float) -> dict[str, Tensor]:
    x = inputs["x"].clone()
    x[:, seen:] *= factor
    return {"x": x}


@points(1)
def test_no_score_is_below_a_hidden_one(harness: Harness) -> None:
    """The first token sees itself alone, however far below 0 its score is."""
    weights = harness.weights(harness.sizes)
    weights["k_proj.weight"] = -weights["q_proj.weight"]
    every = [harness.input("x", harness.sizes.replace(T=T)) * 2000 for T in (7, 131)]
    calls = [
        harness.module(weights=weights).train(mode).to(dtype).call({"x": x.to(dtype)})
        for x, dtype, mode in itertools.product(every, DTYPES, (False, True))
    ]
    harness.ask()
    for call in calls:
        expect_close(call.out[:, 0], call.expected[:, 0], "output of the first token")


@points(1)
def test_each_token_sees_itself_and_all_before_it(harness: Harness) -> None:
    """Changing a token changes all outputs from its own place on."""
    T = harness.sizes.T
    module, inputs, fresh = harness.module(), harness.inputs(), harness.inputs()
    changed = []
    for place in range(T):
        x = inputs["x"].clone()
        x[:, place] = 3 * fresh["x"][:, place]
        changed.append({"x": x})
    before, *after = module.calls([inputs, *changed])
    harness.ask()
    for place, call in enumerate(after):
        for t in range(place, T):
            what = f"the output at {t}, where the token at {place} has changed"
            expect_differs(call.out[:, t], before.out[:, t], what)


@points(2)
def test_beginning_of_a_sequence_gives_what_it_gives_alone(harness: Harness) -> None:
    """So what was computed for a text stays valid as it grows."""
    x = harness.inputs(harness.sizes.replace(T=11))["x"]
    whole, *starts = harness.module().calls([{"x": x}, *({"x": x[:, :t]} for t in range(1, 11))])
    harness.ask()
    for t, call in enumerate(starts, 1):
        expect_close(call.out, whole.out[:, :t], f"output of the first {t} tokens alone")
    expect_differs(whole.out[:, 1:], whole.out[:, :-1], "the outputs of different tokens")


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


@points(1)
def test_no_tensor_is_pinned_to_a_device(harness: Harness) -> None:
    """A mask made without ``device=``, or kept as a plain attribute, stays on the CPU.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.
    """
    longest = harness.within_reach(harness.sizes.replace(T=LONGEST), ELSEWHERE).T
    lengths = (harness.sizes.T, 1, 2, longest)
    every = [harness.inputs(harness.sizes.replace(T=T)) for T in lengths]
    expect_on_any_device(harness, every)
