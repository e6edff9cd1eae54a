"""Public checks of rms_norm: a few of what its docstring promises. The hidden checks are more."""

import torch
from rms_norm import rms_norm
from torch.testing import assert_close


def test_vector_worked_by_hand():
    """The mean of the squares of (1, 7) is 25."""
    out = rms_norm(torch.tensor([[[1.0, 7.0]]]), torch.tensor([1.0, 2.0]))
    assert_close(out, torch.tensor([[[0.2, 2.8]]]), atol=1e-5, rtol=0)


def test_output_has_the_shape_and_the_dtype_of_x():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 5, 3, dtype=dtype)
        out = rms_norm(x, torch.ones(3, dtype=dtype))
        assert out.shape == x.shape
        assert out.dtype == dtype


def test_backward_agrees_with_differences():
    inputs = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3, 5), (5,))]
    assert torch.autograd.gradcheck(rms_norm, inputs)
