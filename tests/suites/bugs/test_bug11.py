"""bug11: a row that may attend to nothing."""

import torch
from torch import Tensor

from grader.suite.compare import expect, expect_close, expect_finite
from grader.suite.marks import points
from grader.suite.reuse import checks_of, load_suite
from grader.suite.trial import Trial

variant = load_suite(__file__, "../variants/test_exercise4.py")
subject = variant.subject

BLIND = 1  # the position that may attend to nothing


def mask_of(trial: Trial) -> Tensor:
    """A mask with a sequence, and a position of the others, that may attend to nothing."""
    B, T = trial.sizes.B, trial.sizes.T
    mask = trial.draw.mask(B, T, T)
    mask[0] = False
    mask[:, BLIND] = False
    return mask


@points(4)
def test_query_that_sees_nothing_gets_zeros(trial: Trial) -> None:
    """Nothing to attend to is nothing to say; all other queries are as they were."""
    module = trial.undropped()
    x, mask = trial.input(), mask_of(trial)
    sighted = mask.any(-1)
    for call in (module.call(x, mask), module.train(False).call(x, mask)):
        out = call.out
        expect_finite(out, "output under a mask that hides everything from some queries")
        blind = out[~sighted]
        expect_close(blind, torch.zeros_like(blind), "output of queries that see nothing")
        right = call.expected[sighted.cpu()]
        expect_close(out[sighted], right, "output of the other queries")


@points(2)
def test_no_gradient_is_nan(trial: Trial) -> None:
    """0 · NaN is NaN: a loss that leaves those queries out does not keep it away."""
    x, mask = trial.input(), mask_of(trial)
    weigh = trial.draw.normal(*x.shape) * mask.any(-1, keepdim=True)
    found = trial.undropped().call(x, mask, weigh=weigh).gradients
    for name, grad in found.items():
        expect(grad is not None, f"`{name}` gets no gradient")
        assert grad is not None
        expect_finite(grad, f"gradient of {name}")


globals().update(checks_of(variant))
