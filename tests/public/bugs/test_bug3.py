"""Public checks of bug3: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug3 import SelfAttentionV4
from torch.testing import assert_close


def test_output_has_the_shape_of_the_input():
    x = torch.randn(3, 5, 7)
    assert SelfAttentionV4(7)(x).shape == x.shape


@pytest.mark.parametrize("dropout_rate", [0.0, 0.5])
def test_evaluation_gives_the_same_twice(dropout_rate):
    torch.manual_seed(0)
    module = SelfAttentionV4(7, dropout_rate).eval()
    x = torch.randn(3, 5, 7)
    assert_close(module(x), module(x))
