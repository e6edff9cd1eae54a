"""Public checks of exercise3: a few of what its docstring promises. The hidden checks are more."""

import torch
from exercise3 import SelfAttentionV3
from torch import nn
from torch.testing import assert_close

CAUSAL = torch.ones(5, 5).tril()  # nonzero = may attend: each token sees itself and those before


def torchs_own(module, width):
    """Torch's attention with the weights of a module."""
    theirs = nn.MultiheadAttention(width, num_heads=1, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(module.proj.weight)
        theirs.in_proj_bias.copy_(module.proj.bias)
        theirs.out_proj.weight.copy_(module.output_proj.weight)
        theirs.out_proj.bias.copy_(module.output_proj.bias)
    return theirs


def test_parameters_are_those_of_two_layers():
    shapes = {name: tuple(p.shape) for name, p in SelfAttentionV3(7).named_parameters()}
    assert shapes == {
        "proj.weight": (21, 7),
        "proj.bias": (21,),
        "output_proj.weight": (7, 7),
        "output_proj.bias": (7,),
    }


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(3, 5, 7, dtype=dtype)
        out = SelfAttentionV3(7).to(dtype)(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_output_is_that_of_torch_with_and_without_a_mask():
    torch.manual_seed(0)
    module = SelfAttentionV3(7, dropout_rate=0.5).double().eval()
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    theirs = torchs_own(module, 7)
    assert_close(module(x), theirs(x, x, x)[0])
    hidden = CAUSAL == 0  # torch's own class wants to know what is hidden
    assert_close(module(x, CAUSAL), theirs(x, x, x, attn_mask=hidden)[0])


def test_hidden_tokens_have_no_influence():
    torch.manual_seed(1)
    module = SelfAttentionV3(7).eval()
    x = torch.randn(3, 5, 7)
    other = x.clone()
    other[:, 3:] = torch.randn(3, 2, 7)
    assert_close(module(other, CAUSAL)[:, :3], module(x, CAUSAL)[:, :3])


def test_evaluation_gives_the_same_twice():
    module = SelfAttentionV3(7, dropout_rate=0.5).eval()
    x = torch.randn(3, 5, 7)
    assert_close(module(x), module(x))
