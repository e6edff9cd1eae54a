"""Public checks of bug10: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug10 import SelfAttention
from torch.nn import functional as F


def test_one_sequence_and_a_batch_of_them():
    module = SelfAttention(3, 5)
    assert module(torch.randn(4, 3)).shape == (4, 5)
    assert module(torch.randn(2, 4, 3)).shape == (2, 4, 5)


def test_fresh_module_of_a_width_of_256_is_not_one_hot():
    torch.manual_seed(0)
    module = SelfAttention(256, 256)
    x = torch.randn(2, 16, 256)
    queries, keys = x @ module.query, x @ module.key
    # What torch's own operator makes of one-hot values are the weights themselves.
    weights = F.scaled_dot_product_attention(queries, keys, torch.eye(16).expand(2, 16, 16))
    assert weights.max(dim=-1).values.mean() < 0.5
