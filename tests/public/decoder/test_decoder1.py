"""Public checks of decoder1: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder1 import CausalSelfAttention
from torch import nn
from torch.testing import assert_close


def torchs_own(module, width, num_heads):
    """Torch's attention with the weights of a module."""
    layers = (module.q_proj, module.k_proj, module.v_proj)
    theirs = nn.MultiheadAttention(width, num_heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(module.o_proj.weight)
    return theirs


def test_state_is_that_of_four_layers():
    module = CausalSelfAttention(embed_dim=15, num_heads=3, max_len=11)
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    assert shapes == {f"{name}_proj.weight": (15, 15) for name in "qkvo"}


@pytest.mark.parametrize(("num_heads", "length"), [(1, 11), (3, 7)])
def test_output_is_that_of_torch(num_heads, length):
    torch.manual_seed(0)
    module = CausalSelfAttention(embed_dim=15, num_heads=num_heads, max_len=11).double()
    x = torch.randn(2, length, 15, dtype=torch.float64)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)  # torch's True is hidden
    expected, _ = torchs_own(module, 15, num_heads)(x, x, x, attn_mask=later)
    assert_close(module(x), expected)


def test_what_comes_later_changes_nothing():
    torch.manual_seed(0)
    module = CausalSelfAttention(embed_dim=14, num_heads=2, max_len=9)
    x = torch.randn(2, 7, 14)
    assert_close(module(x)[:, :3], module(x[:, :3]))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        CausalSelfAttention(embed_dim=15, num_heads=4, max_len=11)
    with pytest.raises(ValueError, match=r"12.*11|11.*12"):
        CausalSelfAttention(embed_dim=15, num_heads=3, max_len=11)(torch.randn(2, 12, 15))
