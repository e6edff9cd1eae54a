"""bug11: a row that may attend to nothing."""

import torch
from torch import Tensor

from grader.suite import Harness, checks_of, expect, expect_close, expect_finite, load_suite, points

variant = load_suite(__file__, "../variants/test_exercise4.py")
contract = variant.contract

BLIND = 1  # the position that may attend to nothing


def masks_of(harness: Harness) -> list[Tensor]:
    """Masks with a sequence, and a position of the others, that may attend to nothing."""
    B, T = harness.sizes.B, harness.sizes.T
    whole, padding = harness.draw.mask(B, T, T), harness.draw.mask(B, 1, T)
    whole[0] = padding[0] = False
    whole[:, BLIND] = False
    ones = torch.arange(T).expand(T, T) % 2 * 2 - 1.0
    cancelling = ones * (torch.arange(T) < T - 1)  # adds up to 0
    cancelling[BLIND] = 0
    return [whole, whole.float(), padding, cancelling]


def seeing(harness: Harness, mask: Tensor) -> Tensor:
    """(B, T): which queries may attend to something."""
    B, T = harness.sizes.B, harness.sizes.T
    return (mask != 0).expand(B, T, T).any(-1)


@points(4)
def test_query_that_sees_nothing_gets_zeros(harness: Harness) -> None:
    """With nothing to attend to, there is nothing to output; all other queries are unchanged."""
    still, dropping = harness.in_training(), harness.module(dropout_rate=0.5).train()
    planned = []
    for mask in masks_of(harness):
        inputs = {**harness.inputs(), "attention_mask": mask}
        calls = (still.train().call(inputs), still.train(False).call(inputs))
        planned.append((seeing(harness, mask), calls, dropping.call(inputs)))
    harness.ask()
    for sighted, calls, dropped in planned:
        for call in (*calls, dropped):
            out = call.out
            expect_finite(out, "output under a mask that hides everything from some queries")
            blind = out[~sighted]
            expect_close(blind, torch.zeros_like(blind), "output of queries that see nothing")
        for call in calls:
            right = call.expected[sighted.cpu()]
            expect_close(call.out[sighted], right, "output of the other queries")


@points(2)
def test_no_gradient_is_nan(harness: Harness) -> None:
    """0 · NaN is NaN: leaving those queries out of the loss does not keep it away."""
    calls = []
    for mask in masks_of(harness):
        x = harness.input("x")
        inputs, loss = {"x": x, "attention_mask": mask}, harness.draw.normal(*x.shape)
        for grad_output in (loss * seeing(harness, mask)[..., None], loss):
            calls.append(harness.in_training().call(inputs, grad_output=grad_output))
    harness.ask()
    for call in calls:
        for name, grad in call.gradients.items():
            expect(grad is not None, f"`{name}` gets no gradient")
            assert grad is not None
            expect_finite(grad, f"gradient of {name}")


globals().update(checks_of(variant))
