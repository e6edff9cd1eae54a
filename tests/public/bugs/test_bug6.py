"""Public checks of bug6: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug6 import SelfAttention


def test_bias_is_there_only_where_it_is_asked_for():
    assert len(list(SelfAttention(3, 5).parameters())) == 3
    assert len(list(SelfAttention(3, 5, qkv_bias=True).parameters())) == 6


def test_one_sentence():
    assert SelfAttention(3, 5)(torch.randn(4, 3)).shape == (4, 5)


def test_batch_of_sentences():
    assert SelfAttention(3, 5)(torch.randn(2, 4, 3)).shape == (2, 4, 5)
