"""Public checks of decoder2: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder2 import CrossAttention
from torch import nn
from torch.testing import assert_close

REAL = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 1, 1, 1]])  # nonzero = a real token


def torchs_own(module, width, num_heads, memory_width):
    """Torch's attention with the weights of a module."""
    theirs = nn.MultiheadAttention(
        width, num_heads, bias=False, kdim=memory_width, vdim=memory_width, batch_first=True
    ).double()
    with torch.no_grad():
        theirs.q_proj_weight.copy_(module.q_proj.weight)
        theirs.k_proj_weight.copy_(module.k_proj.weight)
        theirs.v_proj_weight.copy_(module.v_proj.weight)
        theirs.out_proj.weight.copy_(module.o_proj.weight)
    return theirs


def drawn(seed):
    """A module in float64, what asks and what is read."""
    torch.manual_seed(seed)
    module = CrossAttention(embed_dim=15, num_heads=3, memory_dim=11).double()
    x = torch.randn(2, 5, 15, dtype=torch.float64)
    memory = torch.randn(2, 7, 11, dtype=torch.float64)
    return module, x, memory


def test_parameters_are_those_of_four_layers():
    module = CrossAttention(embed_dim=15, num_heads=3, memory_dim=11)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {
        "q_proj.weight": (15, 15),
        "k_proj.weight": (15, 11),
        "v_proj.weight": (15, 11),
        "o_proj.weight": (15, 15),
    }


def test_output_is_that_of_torch_with_and_without_padding():
    module, x, memory = drawn(0)
    theirs = torchs_own(module, 15, 3, 11)
    assert_close(module(x, memory), theirs(x, memory, memory)[0])
    hidden = REAL == 0  # torch's own class wants to know what is hidden
    expected, _ = theirs(x, memory, memory, key_padding_mask=hidden)
    assert_close(module(x, memory, REAL), expected)


def test_padding_has_no_influence():
    module, x, memory = drawn(1)
    other = memory.masked_fill((REAL == 0)[..., None], 1e4)
    assert_close(module(x, other, REAL), module(x, memory, REAL))


def test_sequence_with_nothing_to_read_gives_zeros():
    module, x, memory = drawn(2)
    nothing = torch.tensor([[0] * 7, [1] * 7])
    out = module(x, memory, nothing)
    assert bool((out[0] == 0).all())
    assert_close(out[1], module(x, memory)[1])


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        CrossAttention(embed_dim=15, num_heads=4, memory_dim=8)
