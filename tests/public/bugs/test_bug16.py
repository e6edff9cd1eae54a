"""Public checks of bug16: what the colleague reports, no more. The hidden checks are more."""

import pytest
import torch
from bug16 import CachedGroupedQueryAttention
from torch.testing import assert_close


def texts():
    torch.manual_seed(0)
    module = CachedGroupedQueryAttention(embed_dim=24, num_heads=6, num_groups=2).double()
    x = torch.randn(2, 7, 24, dtype=torch.float64)
    return module, x, torch.arange(7).repeat(2, 1)


def test_output_has_the_shape_of_the_input():
    module, x, positions = texts()
    assert module(x, positions)[0].shape == x.shape


@pytest.mark.parametrize("sizes", [[4, 3], [2, 5]])
def test_pieces_are_as_the_whole(sizes):
    module, x, positions = texts()
    whole, _ = module(x, positions)
    outs, cache = [], None
    for part, places in zip(x.split(sizes, dim=1), positions.split(sizes, dim=1), strict=True):
        out, cache = module(part, places, cache)
        outs.append(out)
    assert_close(torch.cat(outs, dim=1), whole)
