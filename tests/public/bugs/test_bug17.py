"""Public checks of bug17: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug17 import RotarySelfAttention
from torch.testing import assert_close


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 7, 18)
    assert RotarySelfAttention(embed_dim=18, num_heads=3)(x).shape == x.shape


def test_output_stays_as_the_text_before_grows():
    torch.manual_seed(0)
    module = RotarySelfAttention(embed_dim=18, num_heads=3).double()
    x = torch.randn(2, 7, 18, dtype=torch.float64)
    assert_close(module(x, torch.arange(7) + 500), module(x))
