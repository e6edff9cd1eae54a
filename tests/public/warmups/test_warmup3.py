"""Public checks of warmup3: a few of what its docstring promises. The hidden checks are more."""

import torch
from torch.nn import functional as F
from torch.testing import assert_close
from warmup3 import SelfAttention


def test_bias_is_there_only_where_it_is_asked_for():
    weights = {f"{name}.weight" for name in ("query", "key", "value")}
    biases = {f"{name}.bias" for name in ("query", "key", "value")}
    assert {name for name, _ in SelfAttention(3, 5).named_parameters()} == weights
    asked = SelfAttention(3, 5, qkv_bias=True)
    assert {name for name, _ in asked.named_parameters()} == weights | biases


def test_one_sequence_and_a_batch_of_them():
    module = SelfAttention(3, 5)
    assert module(torch.randn(4, 3)).shape == (4, 5)
    assert module(torch.randn(2, 4, 3)).shape == (2, 4, 5)


def test_output_is_that_of_torch():
    torch.manual_seed(0)
    module = SelfAttention(3, 5, qkv_bias=True).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    layers = (module.query, module.key, module.value)
    made = [F.linear(x, layer.weight, layer.bias) for layer in layers]
    assert_close(module(x), F.scaled_dot_product_attention(*made))


def test_sequence_in_a_batch_is_like_the_sequence_alone():
    torch.manual_seed(1)
    module = SelfAttention(3, 5)
    x = torch.randn(2, 4, 3)
    assert_close(module(x)[1], module(x[1]))
