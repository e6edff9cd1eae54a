"""Public checks of decoder3: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder3 import RotarySelfAttention, rotate
from torch.testing import assert_close


def test_rotate_turns_a_pair_by_its_position():
    x = torch.zeros(1, 1, 2, 4)
    x[..., 1] = 1.0  # its partner is feature 3; the pair turns by a hundredth for each position
    angle = torch.tensor([3.0, 40.0]) / 100
    expected = torch.zeros(1, 1, 2, 4)
    expected[..., 1], expected[..., 3] = angle.cos(), angle.sin()
    assert_close(rotate(x, torch.tensor([3, 40])), expected)


def test_each_sequence_may_have_its_own_positions():
    x = torch.randn(2, 3, 5, 6)
    positions = torch.tensor([[4, 0, 7, 1, 2], [9, 9, 3, 0, 5]])
    each = [rotate(x[i : i + 1], positions[i]) for i in range(2)]
    assert_close(rotate(x, positions), torch.cat(each))


def test_parameters_are_those_of_four_layers():
    module = RotarySelfAttention(embed_dim=18, num_heads=3)
    layers = ("q_proj", "k_proj", "v_proj", "o_proj")
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {f"{layer}.weight": (18, 18) for layer in layers}


def test_only_differences_of_positions_matter():
    module = RotarySelfAttention(embed_dim=18, num_heads=3).double()
    x = torch.randn(2, 7, 18, dtype=torch.float64)
    out = module(x)
    assert out.shape == x.shape
    assert_close(module(x, torch.arange(7) + 1000), out)
    assert not torch.allclose(module(x, torch.arange(7) * 2), out)


def test_an_odd_head_size_is_refused():
    with pytest.raises(ValueError, match=r"15.*3|3.*15"):
        RotarySelfAttention(embed_dim=15, num_heads=3)
