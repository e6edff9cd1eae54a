"""bug5: a constructor that never runs."""

from grader.suite import Harness, checks_of, expect, load_suite, points

variant = load_suite(__file__, "../variants/test_exercise5.py")
contract = variant.contract


@points(4)
def test_it_can_be_built_and_called(harness: Harness) -> None:
    """Everything else needs a module that runs."""
    every = harness.contract.sizes
    calls = [harness.module(sizes, {}).call(harness.inputs(sizes)) for sizes in every]
    harness.ask()
    for call in calls:
        expect(call.outs.keys() == call.contract.outputs.keys(), "expected an output")


globals().update(checks_of(variant))
