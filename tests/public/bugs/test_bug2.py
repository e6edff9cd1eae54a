"""Public checks of bug2: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug2 import SelfAttentionV3

PADDED = torch.tensor([[[1, 1, 1, 1, 1]], [[1, 1, 1, 0, 0]]])  # the second sentence has three words


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 5, 7)
    assert SelfAttentionV3(7)(x).shape == x.shape


def test_evaluation_of_a_padded_batch_is_finite():
    module = SelfAttentionV3(7, dropout_rate=0.5).eval()
    assert module(torch.randn(2, 5, 7), PADDED).isfinite().all()


def test_training_on_a_padded_batch_is_finite():
    torch.manual_seed(0)
    module = SelfAttentionV3(7, dropout_rate=0.5).train()
    for _ in range(10):
        assert module(torch.randn(2, 5, 7), PADDED).isfinite().all()
