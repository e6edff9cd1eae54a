"""Public checks of layer_norm: a few of what its docstring promises. The hidden checks are more."""

import torch
from layer_norm import layer_norm
from torch.testing import assert_close


def test_vector_worked_by_hand():
    """The mean of (1, 3) is 2, and its variance 1."""
    x = torch.tensor([[[1.0, 3.0]]])
    out = layer_norm(x, torch.tensor([2.0, 3.0]), torch.tensor([0.0, 1.0]))
    assert_close(out, torch.tensor([[[-2.0, 4.0]]]), atol=1e-4, rtol=0)


def test_output_has_the_shape_and_the_dtype_of_x():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 5, 3, dtype=dtype)
        out = layer_norm(x, torch.ones(3, dtype=dtype), torch.zeros(3, dtype=dtype))
        assert out.shape == x.shape
        assert out.dtype == dtype


def test_backward_agrees_with_differences():
    inputs = [
        torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3, 5), (5,), (5,))
    ]
    assert torch.autograd.gradcheck(layer_norm, inputs)
