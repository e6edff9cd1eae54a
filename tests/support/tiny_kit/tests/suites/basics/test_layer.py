"""layer: parameters and values."""

from grader.suite import Contract, Harness, Input, Sizes, expect, expect_close, linear, points

contract = Contract(
    entry="Layer",
    sizes=(Sizes(B=3, C=5),),
    arguments=lambda sizes: {"width": sizes.C},
    parameters=lambda sizes: {"linear.weight": (sizes.C, sizes.C), "linear.bias": (sizes.C,)},
    inputs={"x": Input("B C")},
    outputs={"output": "B C"},
    oracle=lambda weights, sizes, x: linear(weights, "linear", x),
)


@points(1)
def test_parameters(harness: Harness) -> None:
    """A weight and a bias."""
    module = harness.module(weights={})
    harness.ask()
    assert module.made is not None
    expect(set(module.made.parameters) == {"linear.weight", "linear.bias"}, "other parameters")


@points(2)
def test_values(harness: Harness) -> None:
    """x·wᵀ + b."""
    call = harness.module().call(harness.inputs())
    harness.ask()
    expect_close(call.out, call.expected)
