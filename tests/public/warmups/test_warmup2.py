"""Public checks of warmup2: a few of what its docstring promises. The hidden checks are more."""

from math import log, sqrt

import torch
from torch.nn import functional as F
from torch.testing import assert_close
from warmup2 import SelfAttention


def test_the_three_matrices_are_parameters():
    shapes = {name: tuple(p.shape) for name, p in SelfAttention(3, 5).named_parameters()}
    assert shapes == {"query": (3, 5), "key": (3, 5), "value": (3, 5)}


def test_one_sequence_and_a_batch_of_them():
    module = SelfAttention(3, 5)
    assert module(torch.randn(4, 3)).shape == (4, 5)
    assert module(torch.randn(2, 4, 3)).shape == (2, 4, 5)


def test_two_tokens_worked_by_hand():
    """Scores of √2·ln 3 and 0, over √2 for d_out = 2: weights of 3/4 and 1/4."""
    module = SelfAttention(2, 2)
    with torch.no_grad():
        for matrix in module.parameters():
            matrix.copy_(torch.eye(2))
    size = sqrt(sqrt(2) * log(3))
    x = torch.tensor([[size, 0.0], [0.0, size]])
    expected = torch.tensor([[0.75 * size, 0.25 * size], [0.25 * size, 0.75 * size]])
    assert_close(module(x), expected)


def test_output_is_that_of_torch():
    torch.manual_seed(0)
    module = SelfAttention(3, 5).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    expected = F.scaled_dot_product_attention(x @ module.query, x @ module.key, x @ module.value)
    assert_close(module(x), expected)
