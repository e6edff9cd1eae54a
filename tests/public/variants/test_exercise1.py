"""Public checks of exercise1: a few of what its docstring promises. The hidden checks are more."""

import torch
from exercise1 import SelfAttentionV1
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close


def test_parameters_are_those_of_three_layers():
    shapes = {name: tuple(p.shape) for name, p in SelfAttentionV1(7).named_parameters()}
    weights = {f"{layer}.weight": (7, 7) for layer in "qkv"}
    assert shapes == {**weights, **{f"{layer}.bias": (7,) for layer in "qkv"}}


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(3, 5, 7, dtype=dtype)
        out = SelfAttentionV1(7).to(dtype)(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_output_is_that_of_torch():
    torch.manual_seed(0)
    module = SelfAttentionV1(7).double()
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    made = [F.linear(x, layer.weight, layer.bias) for layer in (module.q, module.k, module.v)]
    assert_close(module(x), F.scaled_dot_product_attention(*made))


def test_every_layer_gets_a_gradient():
    module = SelfAttentionV1(7)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    module(torch.randn(3, 5, 7)).square().sum().backward()
    for layer in (module.q, module.k, module.v):
        assert layer.weight.grad is not None
        assert layer.weight.grad.abs().max() > 0
