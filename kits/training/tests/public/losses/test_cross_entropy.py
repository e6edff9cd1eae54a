"""Public checks of cross_entropy: a few of what its docstring promises."""

import math

import torch
from cross_entropy import cross_entropy
from torch.testing import assert_close


def test_equal_logits_give_the_logarithm_of_how_many_there_are():
    """Each of four classes has a share of 1/4."""
    loss = cross_entropy(torch.zeros(3, 4), torch.tensor([0, 1, 3]))
    assert_close(loss, torch.tensor(math.log(4)))


def test_rows_worked_by_hand():
    """Shares of 3/4 and 1/4: the mean of log(4/3) and log 4."""
    logits = torch.tensor([[math.log(3), 0.0], [math.log(3), 0.0]])
    loss = cross_entropy(logits, torch.tensor([0, 1]))
    assert_close(loss, torch.tensor((math.log(4 / 3) + math.log(4)) / 2))


def test_loss_is_a_scalar_of_the_dtype_of_the_logits():
    for dtype in (torch.float32, torch.float64):
        loss = cross_entropy(torch.randn(5, 3, dtype=dtype), torch.tensor([0, 1, 2, 1, 0]))
        assert loss.shape == ()
        assert loss.dtype == dtype


def test_large_logits_stay_finite():
    loss = cross_entropy(torch.tensor([[1000.0, 990.0]]), torch.tensor([1]))
    assert_close(loss, torch.tensor(10.0), atol=1e-4, rtol=0)
