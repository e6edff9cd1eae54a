"""Public checks of decoder6: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder6 import CachedGroupedQueryAttention
from torch.testing import assert_close


def texts(tokens=7):
    torch.manual_seed(0)
    module = CachedGroupedQueryAttention(embed_dim=24, num_heads=6, num_groups=2).double()
    x = torch.randn(2, tokens, 24, dtype=torch.float64)
    return module, x, torch.arange(tokens).repeat(2, 1)


def test_cache_holds_a_head_for_each_group():
    module, x, positions = texts()
    out, (keys, values, known) = module(x, positions)
    assert out.shape == (2, 7, 24)
    assert keys.shape == values.shape == (2, 2, 7, 4)
    assert_close(known, positions)


@pytest.mark.parametrize("sizes", [[1] * 7, [4, 3], [2, 1, 4]])
def test_parts_are_as_the_whole(sizes):
    module, x, positions = texts()
    whole, _ = module(x, positions)
    outs, cache = [], None
    for part, places in zip(x.split(sizes, dim=1), positions.split(sizes, dim=1), strict=True):
        out, cache = module(part, places, cache)
        outs.append(out)
    assert_close(torch.cat(outs, dim=1), whole)


def test_padding_changes_nothing_and_gives_zeros():
    module, x, positions = texts()
    alone, _ = module(x[:1, :5], positions[:1, :5])
    positions[0, 5:] = -1
    out, _ = module(x, positions)
    assert_close(out[:1, :5], alone)
    assert not out[0, 5:].any()


def test_one_cache_serves_two_branches():
    module, x, positions = texts()
    _, cache = module(x[:, :4], positions[:, :4])
    first, _ = module(x[:, 4:6], positions[:, 4:6], cache)
    module(x[:, 6:], positions[:, 4:5], cache)
    again, _ = module(x[:, 4:6], positions[:, 4:6], cache)
    assert_close(again, first)
