"""Public checks of exercise4: a few of what its docstring promises. The hidden checks are more."""

import torch
from exercise4 import SelfAttentionV4
from torch.nn import functional as F
from torch.testing import assert_close

CAUSAL = torch.ones(5, 5).tril()  # nonzero = may attend: each token sees itself and those before


def test_parameters_are_those_of_three_layers():
    shapes = {name: tuple(p.shape) for name, p in SelfAttentionV4(7).named_parameters()}
    weights = {f"{layer}.weight": (7, 7) for layer in "qkv"}
    assert shapes == {**weights, **{f"{layer}.bias": (7,) for layer in "qkv"}}


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(3, 5, 7, dtype=dtype)
        out = SelfAttentionV4(7).to(dtype)(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_output_is_that_of_torch_with_and_without_a_mask():
    torch.manual_seed(0)
    module = SelfAttentionV4(7, dropout_rate=0.5).double().eval()
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    made = [F.linear(x, layer.weight, layer.bias) for layer in (module.q, module.k, module.v)]
    assert_close(module(x), F.scaled_dot_product_attention(*made))
    expected = F.scaled_dot_product_attention(*made, attn_mask=CAUSAL.bool())
    assert_close(module(x, CAUSAL), expected)


def test_hidden_tokens_have_no_influence():
    torch.manual_seed(1)
    module = SelfAttentionV4(7).eval()
    x = torch.randn(3, 5, 7)
    other = x.clone()
    other[:, 3:] = torch.randn(3, 2, 7)
    assert_close(module(other, CAUSAL)[:, :3], module(x, CAUSAL)[:, :3])


def test_evaluation_gives_the_same_twice():
    module = SelfAttentionV4(7, dropout_rate=0.5).eval()
    x = torch.randn(3, 5, 7)
    assert_close(module(x), module(x))
