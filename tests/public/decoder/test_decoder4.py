"""Public checks of decoder4: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from decoder4 import AlibiSelfAttention, alibi_slopes
from torch.testing import assert_close


def without_queries(width, num_heads):
    """A module whose scores are its biases, and which gives back what it mixed."""
    module = AlibiSelfAttention(embed_dim=width, num_heads=num_heads)
    with torch.no_grad():
        module.q_proj.weight.zero_()
        module.v_proj.weight.copy_(torch.eye(width))
        module.o_proj.weight.copy_(torch.eye(width))
    return module


def test_parameters_are_those_of_four_layers():
    module = AlibiSelfAttention(embed_dim=15, num_heads=3)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {f"{name}_proj.weight": (15, 15) for name in "qkvo"}


@pytest.mark.parametrize(
    ("num_heads", "slopes"), [(2, [1 / 16, 1 / 256]), (3, [1 / 16, 1 / 256, 1 / 4])]
)
def test_slopes_of_two_and_three_heads(num_heads, slopes):
    assert_close(alibi_slopes(num_heads), torch.tensor(slopes))


def test_two_positions_at_zero_queries():
    x = torch.tensor([[[1.0, 3.0], [5.0, -2.0]]])
    out = without_queries(2, 1)(x)
    share = torch.sigmoid(torch.tensor(1 / 256))  # of the nearer one
    assert_close(out[0, 0], x[0, 0])
    assert_close(out[0, 1], share * x[0, 1] + (1 - share) * x[0, 0])


def test_what_comes_later_changes_nothing():
    torch.manual_seed(0)
    module = AlibiSelfAttention(embed_dim=15, num_heads=3)
    x = torch.randn(2, 7, 15)
    assert_close(module(x)[:, :4], module(x[:, :4]))


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"15.*4|4.*15"):
        AlibiSelfAttention(embed_dim=15, num_heads=4)
