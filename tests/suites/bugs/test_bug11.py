"""bug11: a row that may attend to nothing."""

import torch
from torch import Tensor

from grader.suite import Harness, checks_of, expect, expect_close, expect_finite, load_suite, points

variant = load_suite(__file__, "../variants/test_exercise4.py")
contract = variant.contract

BLIND = 1  # the position that may attend to nothing


def mask_of(harness: Harness) -> Tensor:
    """A mask with a sequence, and a position of the others, that may attend to nothing."""
    B, T = harness.sizes.B, harness.sizes.T
    mask = harness.draw.mask(B, T, T)
    mask[0] = False
    mask[:, BLIND] = False
    return mask


@points(4)
def test_query_that_sees_nothing_gets_zeros(harness: Harness) -> None:
    """Nothing to attend to is nothing to say; all other queries are as they were."""
    module, mask = harness.in_training(), mask_of(harness)
    inputs = {**harness.inputs(), "attention_mask": mask}
    sighted = mask.any(-1)
    calls = module.call(inputs), module.train(False).call(inputs)
    harness.ask()
    for call in calls:
        out = call.out
        expect_finite(out, "output under a mask that hides everything from some queries")
        blind = out[~sighted]
        expect_close(blind, torch.zeros_like(blind), "output of queries that see nothing")
        right = call.expected[sighted.cpu()]
        expect_close(out[sighted], right, "output of the other queries")


@points(2)
def test_no_gradient_is_nan(harness: Harness) -> None:
    """0 · NaN is NaN: a loss that leaves those queries out does not keep it away."""
    x, mask = harness.input("x"), mask_of(harness)
    grad_output = harness.draw.normal(*x.shape) * mask.any(-1, keepdim=True)
    inputs = {"x": x, "attention_mask": mask}
    call = harness.in_training().call(inputs, grad_output=grad_output)
    harness.ask()
    for name, grad in call.gradients.items():
        expect(grad is not None, f"`{name}` gets no gradient")
        assert grad is not None
        expect_finite(grad, f"gradient of {name}")


globals().update(checks_of(variant))
