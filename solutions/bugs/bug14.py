"""A test that cannot fail: solved.

The test built version 1 where it meant version 2, so it tested version 1 against itself. And it
would not have caught much anyway: the numbers of `torch.rand` all lie between 0 and 1 and the
first weights of a layer are small, so all scores are nearly alike, the mean of the values passes
within 1e-2, and nobody looks at gradients. Here the scores differ, and the sizes do too, the
tolerance is that of rounding, and the gradients count.
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
    module = SelfAttentionV2(7)
    reference = SelfAttentionV1(7)
    x = torch.randn(3, 5, 7, requires_grad=True)
    with torch.no_grad():
        module.proj.weight.normal_(std=7**-0.5)
        for name, weight, bias in zip(
            "qkv", module.proj.weight.chunk(3), module.proj.bias.chunk(3), strict=True
        ):
            layer = reference.get_submodule(name)
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
    out, expected = module(x), reference(x)
    assert out.shape == x.shape
    assert torch.allclose(out, expected, atol=1e-5)
    weigh = torch.randn_like(expected)
    sources = (x, module.proj.weight)
    assert out.requires_grad
    found = torch.autograd.grad((out * weigh).sum(), sources, allow_unused=True)
    (right,) = torch.autograd.grad((expected * weigh).sum(), x)
    assert all(grad is not None for grad in found)
    assert torch.allclose(found[0], right, rtol=1e-4, atol=1e-4)
