"""A test that cannot fail.

A colleague reports: "We have a test for version 2, it has been green for months. Last week
somebody broke version 2 on purpose, and the test stayed green."

Repair `check_version_2`: it has to pass for a right `SelfAttentionV2`, in any style, and to raise
an AssertionError for one that gives wrong outputs or wrong gradients. The grader puts other
versions of `SelfAttentionV2` into this file, a right one and wrong ones of the kind that people
write, and calls the function for each. The classes themselves are right as they stand; what you
change in them has no effect.
"""

from math import sqrt

import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    """softmax(q·kᵀ/√C)·v with three layers ``q``, ``k``, ``v``, (B, T, C) -> (B, T, C)."""

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence."""
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / sqrt(x.size(-1))
        return scores.softmax(dim=-1) @ self.v(x)


class SelfAttentionV2(nn.Module):
    """The same with one layer ``proj`` of 3C outputs: q, k and v, in this order."""

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each position attend to every position of its own sequence."""
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / sqrt(x.size(-1))
        return scores.softmax(dim=-1) @ v


def check_version_2() -> None:
    """Raise an AssertionError unless ``SelfAttentionV2`` computes what it should."""
    x = torch.rand(3, 2, 4)
    module = SelfAttentionV1(4)
    out = module(x)
    assert out.shape == x.shape
    q, k, v = module.q(x), module.k(x), module.v(x)
    expected = (q @ k.transpose(-2, -1) / sqrt(4)).softmax(dim=-1) @ v
    assert torch.allclose(out, expected, atol=1e-2)
