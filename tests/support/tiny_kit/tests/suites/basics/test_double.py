"""double: three checks that differ in the length of x, so that a case can fail one of them."""

from grader.suite import Contract, Harness, Input, Sizes, expect_close, points

contract = Contract(
    entry="double",
    sizes=(Sizes(T=3),),
    inputs={"x": Input("T")},
    outputs={"output": "T"},
    oracle=lambda weights, sizes, x: 2 * x,
)


def doubled(harness: Harness, length: int) -> None:
    """2·x for x of this length."""
    sizes = Sizes(T=length)
    call = harness.module(sizes).call(harness.inputs(sizes))
    harness.ask()
    expect_close(call.out, call.expected)


@points(2)
def test_three_numbers(harness: Harness) -> None:
    """Doubled."""
    doubled(harness, 3)


@points(1)
def test_five_numbers(harness: Harness) -> None:
    """Doubled."""
    doubled(harness, 5)


@points(1)
def test_seven_numbers(harness: Harness) -> None:
    """Doubled."""
    doubled(harness, 7)
