"""Public checks of bug8: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug8 import MultiHeadSelfAttention
from torch import nn
from torch.testing import assert_close


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 7, 16)
    assert MultiHeadSelfAttention(embed_dim=16, num_heads=8)(x).shape == x.shape


@pytest.mark.parametrize("num_heads", [1, 8])
def test_output_is_that_of_torch(num_heads):
    torch.manual_seed(0)
    ours = MultiHeadSelfAttention(16, num_heads).double()
    theirs = nn.MultiheadAttention(16, num_heads, bias=False, batch_first=True).double()
    layers = (ours.to_queries, ours.to_keys, ours.to_values)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(ours.unify_heads.weight)
    x = torch.randn(2, 7, 16, dtype=torch.float64)
    assert_close(ours(x), theirs(x, x, x)[0])
