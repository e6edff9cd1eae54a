"""bug19: a tie that is lost where a state is loaded."""

from grader.suite import Harness, checks_of, expect_close, expect_gradient, load_suite, points

variant = load_suite(__file__, "../decoder/test_decoder9.py")
contract = variant.contract


@points(4)
def test_what_was_loaded_goes_on_learning(harness: Harness) -> None:
    """As a model that was never saved does: from all that it reads and all that it predicts."""
    module, name = harness.module(), "embedding.weight"
    before = module.call(harness.inputs())
    doubled = module.renew().set({name: module.weights[name] * 2})
    grad_output = harness.draw.normal(*harness.sizes.shape("B T V"))
    call = doubled.train().call(harness.inputs(), grad_output=grad_output)
    harness.ask()
    expect_close(before.out, before.expected)
    expect_close(call.out, call.expected, "logits, once a state was loaded and all moved on")
    grad = expect_gradient(call.gradients[name], name)
    expect_close(grad, call.right_gradients[name], "gradient, once a state was loaded", 1e-4)


globals().update(checks_of(variant))
