"""Public checks of decoder5: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder5 import GroupedQueryAttention
from torch import nn
from torch.testing import assert_close


def torchs_own(module, width, num_heads, num_groups):
    """Torch's multi-head attention, with the keys and values of a group in each of its heads."""
    each, few = num_heads // num_groups, module.k_proj.weight.unflatten(0, (num_groups, -1))
    keys = few.repeat_interleave(each, dim=0).flatten(0, 1)
    values = module.v_proj.weight.unflatten(0, (num_groups, -1))
    values = values.repeat_interleave(each, dim=0).flatten(0, 1)
    theirs = nn.MultiheadAttention(width, num_heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([module.q_proj.weight, keys, values]))
        theirs.out_proj.weight.copy_(module.o_proj.weight)
    return theirs


def test_keys_and_values_have_a_head_for_each_group():
    module = GroupedQueryAttention(embed_dim=30, num_heads=6, num_groups=2)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {
        "q_proj.weight": (30, 30),
        "k_proj.weight": (10, 30),
        "v_proj.weight": (10, 30),
        "o_proj.weight": (30, 30),
    }


@pytest.mark.parametrize("num_groups", [1, 2, 6])
def test_output_is_that_of_torch(num_groups):
    torch.manual_seed(0)
    module = GroupedQueryAttention(embed_dim=30, num_heads=6, num_groups=num_groups).double()
    x = torch.randn(2, 7, 30, dtype=torch.float64)
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(diagonal=1)  # torch's True = hidden
    expected, _ = torchs_own(module, 30, 6, num_groups)(x, x, x, attn_mask=hidden)
    assert_close(module(x), expected)


def test_groups_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(ValueError, match=r"6.*4|4.*6"):
        GroupedQueryAttention(embed_dim=30, num_heads=6, num_groups=4)
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        GroupedQueryAttention(embed_dim=15, num_heads=4, num_groups=2)
