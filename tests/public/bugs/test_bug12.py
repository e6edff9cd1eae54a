"""Public checks of bug12: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug12 import MultiHeadSelfAttention
from torch import nn
from torch.testing import assert_close


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 7, 15)
    assert MultiHeadSelfAttention(embed_dim=15, num_heads=3)(x).shape == x.shape


@pytest.mark.parametrize("tokens", [1, 2, 7])
def test_output_is_that_of_torch(tokens):
    torch.manual_seed(0)
    ours = MultiHeadSelfAttention(15, num_heads=3).double()
    theirs = nn.MultiheadAttention(15, num_heads=3, bias=False, batch_first=True).double()
    layers = (ours.to_queries, ours.to_keys, ours.to_values)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(ours.unify_heads.weight)
    x = torch.randn(2, tokens, 15, dtype=torch.float64)
    assert_close(ours(x), theirs(x, x, x)[0])
