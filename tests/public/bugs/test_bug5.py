"""Public checks of bug5: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug5 import MultiHeadSelfAttention
from torch import nn


def test_class_is_there():
    assert issubclass(MultiHeadSelfAttention, nn.Module)


def test_it_can_be_built():
    module = MultiHeadSelfAttention(embed_dim=15, num_heads=3)
    assert sum(parameter.numel() for parameter in module.parameters()) == 4 * 15 * 15


@pytest.mark.parametrize("num_heads", [1, 3])
def test_it_can_be_called(num_heads):
    x = torch.randn(2, 7, 15)
    assert MultiHeadSelfAttention(15, num_heads)(x).shape == x.shape
