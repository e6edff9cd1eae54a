"""LoRALinear: a frozen layer with a detour of low rank."""

from dataclasses import replace
from functools import partial

from torch import Tensor

from grader.suite import (
    Contract,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    linear,
    points,
)

ALPHA = 5
FROZEN = ("linear.weight", "linear.bias")


def right(weights: Weights, sizes: Sizes, x: Tensor, alpha: float = ALPHA) -> Tensor:
    """W x + b + (alpha / rank) · B (A x)."""
    return linear(weights, "linear", x) + alpha / sizes.R * (x @ weights["A"].T @ weights["B"].T)


contract = Contract(
    entry="LoRALinear",
    inputs={"x": Input("B T I")},
    outputs={"output": "B T O"},
    sizes=(Sizes(B=2, T=5, I=7, O=11, R=3), Sizes(B=3, T=2, I=5, O=3, R=2)),
    oracle=right,
    arguments=lambda sizes: {
        "in_features": sizes.I, "out_features": sizes.O, "rank": sizes.R, "alpha": ALPHA,
    },
    parameters=lambda sizes: {
        "linear.weight": (sizes.O, sizes.I), "linear.bias": (sizes.O,),
        "A": (sizes.R, sizes.I), "B": (sizes.O, sizes.R),
    },
    frozen=FROZEN,
)  # fmt: skip

test_parameters_are_those_of_the_contract = claims.has_its_parameters
test_output_keeps_shape_and_dtype = claims.keeps_shape_and_dtype
test_output_matches_the_formula = claims.matches_the_formula
test_batch_items_are_independent = claims.batch_items_are_independent
test_gradient_of_the_input_is_right = claims.input_gradient_is_right
test_adapter_learns = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered = claims.remembers_nothing
test_input_may_lie_in_any_order = claims.handles_non_contiguous_input
test_computes_in_bfloat16 = claims.computes_in_bfloat16
test_no_tensor_is_pinned_to_a_device = claims.is_pinned_to_no_device


def test_computes_in_float64(harness: Harness) -> None:
    """Nothing is cast to lower precision on the way."""
    x = harness.inputs()["x"].double()
    call = harness.module().to(x.dtype).call({"x": x})
    harness.ask()
    expect_close(call.out, call.expected, "output in float64", tolerance=1e-10)


@points(3)
def test_adapter_changes_nothing_at_first(harness: Harness) -> None:
    """B is zeros, so training begins at the layer as it was; A is not, or none would learn."""
    module = harness.module(weights={}, with_values=True)
    call = module.call(harness.inputs())
    other = harness.module(weights={}, with_values=True)
    larger = harness.module(Sizes(I=67, O=3, R=101), {}, with_values=True)
    harness.ask()
    made = module.first_weights
    for name in ("A", "B", "linear.weight"):
        expect(name in made, f"expected a parameter `{name}`")
    expect(not bool(made["B"].any()), "B: expected zeros at the start")
    expect(bool((made["A"] != 0).all()), "A: expected no zeros at the start")
    expect(len(made["A"].unique()) > 1, "A: expected random numbers at the start, got one for all")
    is_same = made["A"].equal(other.first_weights.get("A", made["A"] + 1))
    expect(not is_same, "A: expected other random numbers in each layer, got the same in two")
    zeros = int((larger.first_weights.get("A", made["A"]) == 0).sum())
    expect(zeros < 9, f"A: expected no zeros at the start, got {zeros} in {67 * 101} numbers")
    plain = linear({k: v.double() for k, v in made.items()}, "linear", call.inputs["x"].double())
    expect_close(call.out, plain, "output at the start")


@points(2)
def test_layer_itself_does_not_learn(harness: Harness) -> None:
    """W and b are frozen: a step of training leaves them as they were."""
    module = harness.module()
    call = module.call(harness.inputs())
    harness.ask()
    expect_close(call.out, call.expected)
    assert module.made is not None
    for name in FROZEN:
        found = module.made.parameters.get(name)  # that it is there, another check asks
        expect(found is None or not found.requires_grad, f"{name}: expected it to be frozen")


def test_rank_below_one_is_refused(harness: Harness) -> None:
    """An adapter of no rank is a mistake of whoever asks for it, and so is one below none."""
    claims.constructor_raises_for_each(harness, "ValueError", [{"rank": 0}, {"rank": -13}])


def test_rank_may_be_one_or_larger_than_the_widths(harness: Harness) -> None:
    """Only below 1 is there no adapter."""
    sizes = [harness.sizes.replace(R=rank) for rank in (1, 13)]
    calls = [harness.module(one).call(harness.inputs(one)) for one in sizes]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected)


def test_alpha_may_be_zero_or_negative(harness: Harness) -> None:
    """It only scales: 0 turns the adapter off, and below it the adapter is subtracted."""
    calls = []
    for alpha in (0.0, -2.5):
        asked = replace(
            contract,
            oracle=partial(right, alpha=alpha),
            arguments=lambda sizes, alpha=alpha: {**contract.arguments(sizes), "alpha": alpha},
        )
        calls.append(harness.of(asked).module().call(harness.inputs()))
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected)
