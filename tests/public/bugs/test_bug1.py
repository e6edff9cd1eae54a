"""Public checks of bug1: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug1 import SelfAttentionV2
from torch.nn import functional as F


def test_output_has_the_shape_of_the_input():
    x = torch.randn(3, 5, 7)
    assert SelfAttentionV2(7)(x).shape == x.shape


@pytest.mark.parametrize("width", [1, 64, 1024])
def test_output_is_about_as_large_as_the_values(width):
    """Of a sentence of one word there is nothing to average out."""
    torch.manual_seed(0)
    module = SelfAttentionV2(width)
    x = torch.randn(3, 1, width)
    values = F.linear(x, module.proj.weight, module.proj.bias)[..., -width:]
    assert 0.5 < module(x).norm() / values.norm() < 2
