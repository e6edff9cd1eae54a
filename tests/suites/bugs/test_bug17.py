"""bug17: values turned as queries and keys are."""

from grader.suite import Harness, checks_of, expect_close, load_suite, points

variant = load_suite(__file__, "../decoder/test_decoder3.py")
contract = variant.contract


@points(3)
def test_a_token_alone_says_the_same_wherever_it_stands(harness: Harness) -> None:
    """It attends to itself with a weight of 1, and its output does not depend on its place."""
    one = harness.of(variant.placed)
    inputs = one.inputs(one.sizes.replace(T=1))
    places = (0, 1, 40, 500, -3)
    moved = [{**inputs, "positions": inputs["positions"] * 0 + place} for place in places]
    calls = one.module().calls(moved)
    harness.ask()
    for place, call in zip(places, calls, strict=True):
        expect_close(call.out, call.expected, f"output of one token at position {place}")


globals().update(checks_of(variant))
