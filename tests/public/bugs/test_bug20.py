"""Public checks of bug20: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug20 import sampling_distribution
from torch.testing import assert_close


def test_temperature_alone_gives_a_softmax():
    logits = torch.randn(2, 11)
    assert_close(sampling_distribution(logits, temperature=0.7), (logits / 0.7).softmax(-1))


def test_at_a_line_of_04_two_tokens_are_left():
    logits = torch.tensor([[0.35, 0.25, 0.21, 0.19]]).log()
    shares = sampling_distribution(logits, top_p=0.4)
    assert_close(shares, torch.tensor([[0.35, 0.25, 0.0, 0.0]]) / 0.6)
