"""Public checks of softmax: a few of what its docstring promises. The hidden checks are more."""

import torch
from softmax import softmax
from torch.testing import assert_close


def test_vector_worked_by_hand():
    """exp(log 3) is three times exp(0)."""
    out = softmax(torch.tensor([[[3.0, 1.0]]]).log())
    assert_close(out, torch.tensor([[[0.75, 0.25]]]))


def test_output_has_the_shape_and_the_dtype_of_x():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 5, 3, dtype=dtype)
        out = softmax(x)
        assert out.shape == x.shape
        assert out.dtype == dtype


def test_backward_agrees_with_differences():
    x = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(softmax, [x])
