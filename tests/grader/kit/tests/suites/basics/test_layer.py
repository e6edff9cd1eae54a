"""layer: parameters and values."""

import torch

from grader.sandbox.remote import RemoteSubmission
from grader.suite.compare import expect, expect_close, expect_tensor
from grader.suite.draw import Draw
from grader.suite.marks import points


@points(1)
def test_parameters(submission: RemoteSubmission) -> None:
    """A weight and a bias."""
    module = submission.create("Layer", width=5)
    expect(set(module.state_dict()) == {"linear.weight", "linear.bias"}, "other parameters")


@points(2)
def test_values(submission: RemoteSubmission, draw: Draw) -> None:
    """x·wᵀ + b."""
    module = submission.create("Layer", width=5)
    x = draw.normal(3, 5)
    out = expect_tensor(module(x), (3, 5), "output", "(B, C)")
    weights = {name: p.detach().double() for name, p in module.named_parameters()}
    right = torch.nn.functional.linear(x.double(), *weights.values())
    expect_close(out, right)
