"""Public checks of exercise5: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from exercise5 import MultiHeadSelfAttention
from torch import nn
from torch.testing import assert_close


def torchs_own(module, width, num_heads):
    """Torch's attention with the weights of a module."""
    layers = (module.to_queries, module.to_keys, module.to_values)
    theirs = nn.MultiheadAttention(width, num_heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(module.unify_heads.weight)
    return theirs


def test_parameters_are_those_of_four_layers():
    module = MultiHeadSelfAttention(embed_dim=15, num_heads=3)
    layers = ("to_queries", "to_keys", "to_values", "unify_heads")
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {f"{layer}.weight": (15, 15) for layer in layers}


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 7, 15, dtype=dtype)
        out = MultiHeadSelfAttention(embed_dim=15, num_heads=3).to(dtype)(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


@pytest.mark.parametrize("num_heads", [1, 3])
def test_output_is_that_of_torch(num_heads):
    torch.manual_seed(0)
    module = MultiHeadSelfAttention(embed_dim=15, num_heads=num_heads).double()
    x = torch.randn(2, 7, 15, dtype=torch.float64)
    expected, _ = torchs_own(module, 15, num_heads)(x, x, x)
    assert_close(module(x), expected)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        MultiHeadSelfAttention(embed_dim=15, num_heads=4)
