"""Public checks of unit_rows: a few of what its docstring promises. The hidden checks are more."""

import torch
from torch.testing import assert_close
from unit_rows import unit_rows


def test_row_worked_by_hand():
    """The length of (3, 4) is 5."""
    assert_close(unit_rows(torch.tensor([[[3.0, 4.0]]])), torch.tensor([[[0.6, 0.8]]]))


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 5, 3, dtype=dtype)
        out = unit_rows(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_row_of_zeros_stays_as_it_is():
    assert not unit_rows(torch.zeros(1, 2, 3)).any()
