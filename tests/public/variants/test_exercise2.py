"""Public checks of exercise2: a few of what its docstring promises. The hidden checks are more."""

import torch
from exercise2 import SelfAttentionV2
from torch import nn
from torch.testing import assert_close


def torchs_own(module, width):
    """Torch's attention with the weights of a module; its output layer changes nothing."""
    theirs = nn.MultiheadAttention(width, num_heads=1, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(module.proj.weight)
        theirs.in_proj_bias.copy_(module.proj.bias)
        theirs.out_proj.weight.copy_(torch.eye(width))
        theirs.out_proj.bias.zero_()
    return theirs


def test_parameters_are_those_of_one_layer():
    shapes = {name: tuple(p.shape) for name, p in SelfAttentionV2(7).named_parameters()}
    assert shapes == {"proj.weight": (21, 7), "proj.bias": (21,)}


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(3, 5, 7, dtype=dtype)
        out = SelfAttentionV2(7).to(dtype)(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_output_is_that_of_torch():
    torch.manual_seed(0)
    module = SelfAttentionV2(7).double()
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    expected, _ = torchs_own(module, 7)(x, x, x)
    assert_close(module(x), expected)


def test_sequences_do_not_see_each_other():
    torch.manual_seed(1)
    module = SelfAttentionV2(5)
    x = torch.randn(3, 7, 5)
    assert_close(module(x)[:1], module(x[:1]))
