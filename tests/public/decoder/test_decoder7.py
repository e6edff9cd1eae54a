"""Public checks of decoder7: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder7 import SlidingWindowAttention
from torch import nn
from torch.testing import assert_close


def drawn(seed, window, length):
    """A module in float64 and a sequence for it."""
    torch.manual_seed(seed)
    module = SlidingWindowAttention(embed_dim=15, num_heads=3, window=window).double()
    return module, torch.randn(2, length, 15, dtype=torch.float64)


def torchs_own(module):
    """Torch's attention with the weights of a module."""
    layers = (module.q_proj, module.k_proj, module.v_proj)
    theirs = nn.MultiheadAttention(15, 3, bias=False, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(module.o_proj.weight)
    return theirs


def test_state_is_that_of_four_layers():
    module, _ = drawn(0, 4, 1)
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    assert shapes == {f"{name}_proj.weight": (15, 15) for name in "qkvo"}


@pytest.mark.parametrize("window", [1, 3, 20])
def test_output_is_that_of_torch(window):
    module, x = drawn(1, window, 7)
    ones = torch.ones(7, 7, dtype=torch.bool)
    hidden = ones.triu(1) | ones.tril(-window)  # torch's True is hidden
    expected, _ = torchs_own(module)(x, x, x, attn_mask=hidden)
    assert_close(module(x)[0], expected)


def test_in_parts_as_at_once():
    module, x = drawn(2, 4, 9)
    whole, cache = module(x)
    first, middle = module(x[:, :6])
    second, last = module(x[:, 6:], middle)
    assert_close(torch.cat([first, second], dim=1), whole)
    assert_close(last, cache)


def test_cache_is_no_longer_than_the_window():
    module, x = drawn(3, 4, 9)
    assert [tuple(held.shape) for held in module(x)[1]] == [(2, 3, 4, 5)] * 2
    assert [tuple(held.shape) for held in module(x[:, :2])[1]] == [(2, 3, 2, 5)] * 2


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        SlidingWindowAttention(embed_dim=15, num_heads=4, window=3)
    with pytest.raises(ValueError, match="-2"):
        SlidingWindowAttention(embed_dim=15, num_heads=3, window=-2)
