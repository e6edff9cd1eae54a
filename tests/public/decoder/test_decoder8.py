"""Public checks of decoder8: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder8 import CausalSelfAttention, DecoderBlock, RMSNorm, SwiGLU
from torch import nn
from torch.testing import assert_close


def made():
    torch.manual_seed(0)
    return DecoderBlock(embed_dim=15, num_heads=3, hidden_dim=11).double()


def test_parameters_are_those_of_the_contract():
    shapes = {name: tuple(p.shape) for name, p in made().named_parameters()}
    projections = ("q_proj", "k_proj", "v_proj", "o_proj")
    assert shapes == {
        "attention_norm.weight": (15,),
        **{f"attention.{name}.weight": (15, 15) for name in projections},
        "ffn_norm.weight": (15,),
        "ffn.gate_proj.weight": (11, 15),
        "ffn.up_proj.weight": (11, 15),
        "ffn.down_proj.weight": (15, 11),
    }


def test_norm_is_that_of_torch():
    norm, theirs = RMSNorm(13).double(), nn.RMSNorm(13, eps=1e-6).double()
    with torch.no_grad():
        norm.weight.copy_(torch.randn(13))
        theirs.weight.copy_(norm.weight)
    x = torch.randn(2, 5, 13, dtype=torch.float64)
    assert_close(norm(x), theirs(x))
    assert_close(norm(x * 1e-3), theirs(x * 1e-3))


def test_feed_forward_is_gated():
    ffn, x = SwiGLU(13, 7).double(), torch.randn(2, 5, 13, dtype=torch.float64)
    gate = x @ ffn.gate_proj.weight.T
    hidden = gate / (1 + (-gate).exp()) * (x @ ffn.up_proj.weight.T)
    assert_close(ffn(x), hidden @ ffn.down_proj.weight.T)


def test_the_future_has_no_influence():
    module, x = made(), torch.randn(2, 7, 15, dtype=torch.float64)
    assert_close(module(x)[:, :3], module(x[:, :3]))


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        CausalSelfAttention(embed_dim=15, num_heads=4)
