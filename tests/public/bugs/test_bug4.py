"""Public checks of bug4: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug4 import SelfAttentionV1
from torch import nn


def test_output_has_the_shape_of_the_input():
    x = torch.randn(3, 5, 7)
    assert SelfAttentionV1(7)(x).shape == x.shape


def test_all_weights_change_in_training():
    torch.manual_seed(0)
    module = SelfAttentionV1(7)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    before = {name: parameter.clone() for name, parameter in module.named_parameters()}
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    module(torch.randn(3, 5, 7)).square().sum().backward()
    optimiser.step()
    for name, parameter in module.named_parameters():
        # A bias of the keys adds the same to all scores of a query, so nothing pulls at it.
        assert name == "k.bias" or not torch.equal(parameter, before[name]), name
