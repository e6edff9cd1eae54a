"""Public checks of top_k_routing: a few of what its docstring promises."""

import math

import pytest
import torch
from top_k_routing import top_k_routing
from torch.testing import assert_close


def test_token_worked_by_hand():
    """Of shares 3 : 1 : 2, the first and the last stay."""
    logits = torch.tensor([[math.log(3), 0.0, math.log(2)]])
    assert_close(top_k_routing(logits, 2), torch.tensor([[0.6, 0.0, 0.4]]))


def test_weights_of_a_token_add_up_to_one():
    assert_close(top_k_routing(torch.randn(5, 7), 3).sum(-1), torch.ones(5))


def test_all_experts_give_the_softmax():
    logits = torch.randn(5, 7)
    assert_close(top_k_routing(logits, 7), logits.softmax(-1))


def test_more_experts_than_there_are_are_refused():
    with pytest.raises(ValueError, match="8"):
        top_k_routing(torch.randn(5, 7), 8)
