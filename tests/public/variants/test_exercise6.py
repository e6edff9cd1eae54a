"""Public checks of exercise6: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from exercise6 import TransformerBlock
from torch import nn
from torch.testing import assert_close

# Torch's names for the layers that are not attention, and ours.
NAMES = {"linear1": "ff.0", "linear2": "ff.2", "norm1": "norm1", "norm2": "norm2"}


def torchs_own(module, width, num_heads):
    """Torch's block with the weights of a module; ours has no biases in its attention."""
    theirs = nn.TransformerEncoderLayer(
        width, num_heads, dim_feedforward=4 * width, dropout=0.0, batch_first=True
    ).double()
    ours = module.attention
    layers = (ours.to_queries, ours.to_keys, ours.to_values)
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.self_attn.in_proj_bias.zero_()
        theirs.self_attn.out_proj.weight.copy_(ours.unify_heads.weight)
        theirs.self_attn.out_proj.bias.zero_()
        for name, own in NAMES.items():
            for kind in ("weight", "bias"):
                theirs.get_parameter(f"{name}.{kind}").copy_(module.get_parameter(f"{own}.{kind}"))
    return theirs


def test_parameters_are_those_of_the_contract():
    module = TransformerBlock(embed_dim=15, num_heads=3)
    layers = ("to_queries", "to_keys", "to_values", "unify_heads")
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {
        **{f"attention.{layer}.weight": (15, 15) for layer in layers},
        **{f"norm{i}.{kind}": (15,) for i in (1, 2) for kind in ("weight", "bias")},
        **{"ff.0.weight": (60, 15), "ff.0.bias": (60,)},
        **{"ff.2.weight": (15, 60), "ff.2.bias": (15,)},
    }


def test_output_has_the_shape_and_the_dtype_of_the_input():
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 7, 15, dtype=dtype)
        out = TransformerBlock(embed_dim=15, num_heads=3).to(dtype)(x)
        assert out.shape == x.shape
        assert out.dtype == x.dtype


def test_output_is_that_of_torch():
    torch.manual_seed(0)
    module = TransformerBlock(embed_dim=15, num_heads=3).double()
    x = torch.randn(2, 7, 15, dtype=torch.float64)
    assert_close(module(x), torchs_own(module, 15, 3)(x))


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        TransformerBlock(embed_dim=15, num_heads=4)
