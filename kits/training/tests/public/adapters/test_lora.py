"""Public checks of LoRALinear: a few of what its docstring promises. The hidden checks are more."""

import pytest
import torch
from lora import LoRALinear
from torch.testing import assert_close


def test_adapter_changes_nothing_at_first():
    layer = LoRALinear(4, 3, rank=2, alpha=8)
    x = torch.randn(2, 5, 4)
    assert_close(layer(x), layer.linear(x))


def test_only_the_adapter_learns():
    layer = LoRALinear(4, 3, rank=2, alpha=8)
    assert {name for name, p in layer.named_parameters() if p.requires_grad} == {"A", "B"}


def test_output_worked_by_hand():
    """W x + b is 0, A x is 5, and alpha / rank 3."""
    layer = LoRALinear(2, 1, rank=1, alpha=3)
    with torch.no_grad():
        for parameter in layer.linear.parameters():
            parameter.zero_()
        layer.A.copy_(torch.tensor([[1.0, 2.0]]))
        layer.B.fill_(2)
    assert_close(layer(torch.tensor([[[1.0, 2.0]]])), torch.tensor([[[30.0]]]))


def test_rank_below_one_is_refused():
    with pytest.raises(ValueError, match="0"):
        LoRALinear(4, 3, rank=0, alpha=8)
