"""warmup4: every intermediate value, checked against the figures printed in notebook 001."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from grader.attention import AttentionContract, WeightLayout
from grader.attention import claims as attention
from grader.suite import Harness, Sizes, Weights, claims, expect, expect_close, fail, linear, points
from grader.suite.compare import expect_tensor
from grader.wire.values import type_name

TOKENS = [[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]]
# As printed there, seed 42, with four decimals.
FIGURES = {
    "q": [[0.7621, -0.0428], [1.1063, 0.7890], [1.1164, -2.1336]],
    "k": [[-0.1469, -0.3038], [0.1057, 0.3685], [-0.9914, -2.4152]],
    "v": [[0.6038, 0.7434], [-0.3502, 0.5303], [3.8695, 2.4246]],
    "similarities": [[-0.0990, 0.0648, -0.6523], [-0.4022, 0.4078, -3.0024],
                     [0.4842, -0.6683, 4.0461]],
    "scaled": [[-0.0700, 0.0458, -0.4612], [-0.2844, 0.2883, -2.1230], [0.3424, -0.4725, 2.8610]],
    "weights": [[0.3573, 0.4011, 0.2416], [0.3410, 0.6047, 0.0542], [0.0722, 0.0320, 0.8959]],
    "output": [[1.0100, 1.0641], [0.2040, 0.7057], [3.4989, 2.2427]],
}  # fmt: skip
STEPS = tuple(FIGURES)


def right_steps(weights: Weights, x: Tensor) -> dict[str, Tensor]:
    """Every intermediate value."""
    q, k, v = (linear(weights, name, x) for name in ("W_q", "W_k", "W_v"))
    similarities = q @ k.mT
    scaled = similarities / sqrt(k.size(-1))
    mix = torch.softmax(scaled, dim=-1)
    return dict(zip(STEPS, (q, k, v, similarities, scaled, mix, mix @ v), strict=True))


one_sequence = AttentionContract(
    entry="SelfAttention",
    sizes=(Sizes(B=0, T=5, C=7), Sizes(B=0, T=7, C=3), Sizes(B=0, T=3, C=2)),
    arguments=lambda sizes: {"d_model": sizes.C},
    parameters=lambda sizes: {f"{n}.weight": (sizes.C, sizes.C) for n in ("W_q", "W_k", "W_v")},
    oracle=lambda weights, sizes, x: right_steps(weights, x)["output"],
    scale=lambda sizes: 1 / sqrt(sizes.C),
    value_vectors=lambda weights, sizes, x: (linear(weights, "W_v", x), 0.0),
    zero_queries=lambda weights: {**weights, "W_q.weight": weights["W_q.weight"] * 0},
    layout=WeightLayout("W_q", "W_k", "W_v"),
    methods={"intermediates": lambda weights, sizes, x: right_steps(weights, x)},
    tried=False,
)
counted_back = replace(
    one_sequence,
    unbatched=True,
    sizes=(Sizes(B=3, T=5, C=7), Sizes(B=2, T=7, C=3), Sizes(B=5, T=2, C=11)),
    arguments=lambda sizes: {"d_model": sizes.C, "row_dim": -2, "col_dim": -1},
)
contract = replace(
    counted_back,
    tried=True,
    variants={
        "row_dim=-2, col_dim=-1": counted_back,
        "row_dim=0, col_dim=1": one_sequence,
        "row_dim=0, col_dim=-1": replace(
            one_sequence, arguments=lambda sizes: {"d_model": sizes.C, "row_dim": 0, "col_dim": -1}
        ),
        "row_dim=-2, col_dim=1": replace(
            one_sequence, arguments=lambda sizes: {"d_model": sizes.C, "row_dim": -2, "col_dim": 1}
        ),
    },
)


def expect_steps_of(found: Any, x: Tensor, names: Sequence[str] = STEPS) -> dict[str, Tensor]:
    """What ``intermediates`` gives, which must be a dict with Tensors of these names."""
    if not isinstance(found, dict):
        fail(f"intermediates: expected a dict, got `{type_name(found)}`")
    missing = [name for name in names if name not in found]
    expect(not missing, f"intermediates: expected the keys {STEPS}, got {tuple(found)}")
    features = {name: x.size(-1) for name in ("q", "k", "v", "output")}
    return {
        name: expect_tensor(
            found[name],
            (*x.shape[:-1], features.get(name, x.size(-2))),
            name,
            "(…, T, C)" if name in features else "(…, T, T)",
        )
        for name in names
    }


def expect_steps(harness: Harness, *names: str) -> None:
    """These intermediate values are right, for one sequence and for a batch, and can be learned."""
    alone = replace(counted_back, sizes=one_sequence.sizes)  # -2 and -1 serve (T, C) too
    planned = [
        case.module(sizes).call(case.inputs(sizes), method="intermediates")
        for case in (harness.of(one_sequence), harness, harness.of(alone))
        for sizes in case.contract.sizes
    ]
    module, x = harness.module(), harness.input("x")
    learned = harness.batch.call(
        module.made, [((x,), {})], method="intermediates", grad_parameters=()
    )
    harness.ask()
    steps, results = expect_steps_of(learned.result(), x, names), learned.results
    pairs = zip(results.outputs, results.grads, strict=True)
    learning = [one for one, learns in pairs if learns]
    for name, step in steps.items():
        leads_back = any(one is step for one in learning)
        expect(leads_back, f"{name}: no gradient leads back from it to the parameters")
    for call in planned:
        found = expect_steps_of(call.result, call.tensors["x"], names)
        right = right_steps(call.right_weights, call.right_inputs["x"])
        for name in names:
            expect_close(found[name], right[name], name)


test_parameters_are_those_of_the_contract = claims.has_its_parameters


@points(3)
def test_seed_42_gives_the_figures_of_the_source(harness: Harness) -> None:
    """The layers are created in the order of the contract, with torch's own initial values."""
    alone = harness.of(one_sequence)
    module = alone.module(Sizes(B=0, T=3, C=2), {}, seed=42, d_model=None)
    x = torch.tensor(TOKENS)
    call = module.train().call({"x": x}, method="intermediates")
    harness.ask()
    found = expect_steps_of(call.result, x)
    for name, figures in FIGURES.items():
        expect_close(found[name], torch.tensor(figures).double(), f"{name} at seed 42", 6e-5)
    for C in (2, 5):
        expect_first_values(harness, C, harness.draw.integer(43, 10**6))


def expect_first_values(harness: Harness, C: int, seed: int) -> None:
    """With another seed, other first values: those that three ``nn.Linear(C, C)`` draw."""
    sizes = Sizes(B=0, T=3, C=C)
    given = {"d_model": None} if C == 2 else {}  # is the default
    made = harness.of(one_sequence).module(sizes, {}, with_values=True, seed=seed, **given)
    harness.ask()
    first = made.first_weights
    generator = torch.Generator().manual_seed(seed)
    for name in ("W_q.weight", "W_k.weight", "W_v.weight"):
        bound = C**-0.5
        drawn = torch.empty(C, C).uniform_(-bound, bound, generator=generator)
        expect(name in first, f"expected a parameter `{name}`")
        expect_close(first[name], drawn.double(), f"initial values of {name} at seed {seed}", 1e-6)


@points(1)
def test_intermediates_are_a_dict_with_seven_keys(harness: Harness) -> None:
    """The names under which the steps can be inspected."""
    call = harness.module().call(harness.inputs(), method="intermediates")
    harness.ask()
    expect_steps_of(call.result, call.tensors["x"])
    extra = [name for name in call.result if name not in STEPS]
    expect(not extra, f"intermediates: expected the keys {STEPS}, and no `{''.join(extra[:1])}`")


@points(1)
def test_q_k_and_v_come_from_their_own_layers(harness: Harness) -> None:
    """Three projections of the same input."""
    expect_steps(harness, "q", "k", "v")


@points(1)
def test_similarities_are_q_times_k_transposed(harness: Harness) -> None:
    """One number for each pair of a query and a key."""
    expect_steps(harness, "similarities")


@points(2)
def test_scaled_are_similarities_over_the_root_of_d_model(harness: Harness) -> None:
    """Divided before the softmax, by the root of the number of features."""
    expect_steps(harness, "scaled")


@points(2)
def test_weights_are_a_softmax_over_the_keys(harness: Harness) -> None:
    """Each row, over the keys of one query, sums to one."""
    expect_steps(harness, "weights")


@points(2)
def test_output_is_weights_times_v(harness: Harness) -> None:
    """Each query gets the values in proportion to its weights."""
    expect_steps(harness, "output")


@points(2)
def test_forward_gives_the_output_for_one_sequence(harness: Harness) -> None:
    """With the default row_dim and col_dim, (T, C) in, (T, C) out."""
    claims.matches_the_formula(harness.of(one_sequence))


@points(2)
def test_forward_gives_the_output_for_a_batch(harness: Harness) -> None:
    """With row_dim=-2 and col_dim=-1, (B, T, C) in, (B, T, C) out."""
    claims.matches_the_formula(harness)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_batch_items_are_independent = claims.batch_items_are_independent
test_tokens_are_treated_alike = claims.follows_a_permutation
test_large_scores_stay_finite = attention.large_scores_stay_finite
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
