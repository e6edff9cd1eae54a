"""What a worker keeps of a call for its gradients goes when the call does."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from grader.worker.graphs import Graph, saved_parameter_hooks


def test_graph_holds_no_output_that_holds_it() -> None:
    """A softmax saves its own output for its gradient: were it kept as it is, nothing would go."""
    x = torch.randn(4, 4, requires_grad=True)
    with saved_parameter_hooks({"x": x}):
        weights = x.softmax(-1)
        out = weights @ x
    (grad,) = Graph([x]).backward([(out, torch.ones(4, 4))])
    assert grad is not None
    held = [weakref.ref(weights), weakref.ref(out)]
    del weights, out, grad
    gc.collect()
    assert [one() for one in held] == [None, None]


def test_number_has_no_axes_to_turn() -> None:
    """Torch warns of it, on a line of ours, among what the submission printed."""
    x = torch.ones(3, requires_grad=True)
    out = x.sum()
    with torch.no_grad():  # as a file may leave it when it is imported
        (grad,) = Graph([x]).backward([(out, torch.tensor(2.0))], "transposed")
    assert grad is not None
    assert torch.equal(grad, torch.full((3,), 2.0))


def test_parameter_that_is_set_anew_has_the_gradient_of_before() -> None:
    x = torch.full((2,), 3.0, requires_grad=True)
    with saved_parameter_hooks({"x": x}):
        out = x * x
    with torch.no_grad():
        x.zero_()
    (grad,) = Graph([x]).backward([(out, torch.ones(2))])
    assert grad is not None
    assert grad.tolist() == [6.0, 6.0]


def test_other_tensor_that_is_changed_is_an_error() -> None:
    x = torch.ones(2, requires_grad=True)
    factor = torch.full((2,), 2.0)
    with saved_parameter_hooks({"x": x}):
        out = x * factor
    factor.add_(1)
    with pytest.raises(RuntimeError, match="in-place"):
        Graph([x]).backward([(out, torch.ones(2))])
