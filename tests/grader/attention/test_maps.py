"""What was attended to is recovered from what came out."""

from __future__ import annotations

import torch

from grader.attention.maps import _right_inverse


def test_what_mixes_vectors_is_taken_back_where_they_are_dependent_too() -> None:
    vectors = torch.randn(3, 4, 7, dtype=torch.float64)
    weights = torch.rand(3, 5, 4, dtype=torch.float64)
    assert torch.allclose(weights @ vectors @ _right_inverse(vectors), weights)
    vectors[:, 1] = 0
    weights[..., 1] = 0  # nothing tells what it was
    assert torch.allclose(weights @ vectors @ _right_inverse(vectors), weights)
    vectors[:, 1] = vectors[:, 2]
    taken_back = weights @ vectors @ _right_inverse(vectors)
    halves = weights[..., 2] / 2
    assert torch.allclose(taken_back[..., 1], halves)
    assert torch.allclose(taken_back[..., 2], halves)
