"""Public checks of bug7: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug7 import MultiHeadSelfAttention
from torch import nn
from torch.testing import assert_close


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 7, 15)
    assert MultiHeadSelfAttention(embed_dim=15, num_heads=3)(x).shape == x.shape


@pytest.mark.parametrize("num_heads", [1, 3])
def test_weights_from_elsewhere_fit(num_heads):
    """Torch's own attention, and ours with the weights of that one."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(15, num_heads, bias=False, batch_first=True).double()
    ours = MultiHeadSelfAttention(15, num_heads).double()
    with torch.no_grad():
        queries, keys, values = theirs.in_proj_weight.split(15)
        ours.to_queries.weight.copy_(queries)
        ours.to_keys.weight.copy_(keys)
        ours.to_values.weight.copy_(values)
        ours.unify_heads.weight.copy_(theirs.out_proj.weight)
    x = torch.randn(2, 7, 15, dtype=torch.float64)
    assert_close(ours(x), theirs(x, x, x)[0])
