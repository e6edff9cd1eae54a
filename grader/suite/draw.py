"""Random inputs of a check, drawn from the report's seed and the check's name."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def derive_seed(seed: int, name: str) -> int:
    """Return the seed of 63 bits that ``seed`` and ``name``, which names a purpose, determine."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class Draw:
    """A source of random numbers on the CPU, so that every device is given the same ones.

    Example:
        >>> draw = Draw(seed=1)
        >>> draw.normal(3, 5).shape, sorted(draw.permutation(3).tolist())
        (torch.Size([3, 5]), [0, 1, 2])
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, std: float = 1.0) -> Tensor:
        """Draw normally distributed numbers with mean 0, float32, of this shape."""
        return torch.randn(shape, generator=self._generator) * std

    def permutation(self, count: int) -> Tensor:
        """Draw an order of the numbers below ``count``, (count,)."""
        return torch.randperm(count, generator=self._generator)

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        return int(self.integers(low, high))

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Draw integers from ``low`` to ``high``, both included, of this shape."""
        return torch.randint(low, high + 1, shape, generator=self._generator)

    def order(self, count: int) -> Tensor:
        """Draw a permutation of ``count`` elements that moves every one of them, (count,)."""
        shuffled = self.permutation(count)
        return shuffled[torch.arange(count).roll(1)[shuffled.argsort()]]

    def mask(self, *shape: int) -> Tensor:
        """Draw a bool mask; each row of the last axis has a True and, if longer than 1, a False."""
        chosen = torch.rand(shape, generator=self._generator) < 0.5
        rows, T = (*shape[:-1], 1), shape[-1]
        shown = torch.randint(T, rows, generator=self._generator)
        chosen.scatter_(-1, shown, True)
        if T > 1:
            hidden = (shown + torch.randint(1, T, rows, generator=self._generator)) % T
            chosen.scatter_(-1, hidden, False)
        return chosen
