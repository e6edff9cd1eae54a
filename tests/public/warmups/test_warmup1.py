"""Public checks of warmup1: a few of what its docstring promises. The hidden checks are more."""

from math import log, sqrt

import torch
from torch.nn import functional as F
from torch.testing import assert_close
from warmup1 import self_attention


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 5, 3, dtype=dtype)
        out = self_attention(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_two_tokens_worked_by_hand():
    """Each token agrees with itself by ln 3 and with the other by 0: weights of 3/4 and 1/4."""
    size = sqrt(log(3))
    x = torch.tensor([[[size, 0.0], [0.0, size]]])
    expected = torch.tensor([[[0.75 * size, 0.25 * size], [0.25 * size, 0.75 * size]]])
    assert_close(self_attention(x), expected)


def test_output_is_that_of_torch():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    assert_close(self_attention(x), F.scaled_dot_product_attention(x, x, x, scale=1.0))


def test_sequences_do_not_see_each_other():
    torch.manual_seed(1)
    first, second = torch.randn(2, 1, 5, 3)
    together = self_attention(torch.cat([first, second]))
    assert_close(together, torch.cat([self_attention(first), self_attention(second)]))
