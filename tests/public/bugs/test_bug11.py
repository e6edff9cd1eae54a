"""Public checks of bug11: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug11 import SelfAttentionV4
from torch.testing import assert_close

EMPTY_SECOND = torch.tensor([[[1, 1, 1, 1, 1]], [[0, 0, 0, 0, 0]]])  # all of it is filling


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 5, 7)
    assert SelfAttentionV4(7)(x, EMPTY_SECOND).shape == x.shape


def test_sentence_beside_an_empty_one_is_as_it_was():
    module = SelfAttentionV4(7).eval()
    x = torch.randn(2, 5, 7)
    assert_close(module(x, EMPTY_SECOND)[0], module(x)[0])


def test_empty_sentence_gives_zeros():
    out = SelfAttentionV4(7).eval()(torch.randn(2, 5, 7), EMPTY_SECOND)
    assert_close(out[1], torch.zeros(5, 7))


def test_no_gradient_is_nan_where_the_loss_leaves_it_out():
    module = SelfAttentionV4(7)
    module(torch.randn(2, 5, 7), EMPTY_SECOND)[0].square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad.isfinite().all(), name
