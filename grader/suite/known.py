"""A cache of right values: with one seed, all submissions of a batch get the same inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor

MAX_CACHED_VALUES = 2_000  # some 20 MB; then the cache is emptied

_T = TypeVar("_T")
_cache: dict[Hashable, Any] = {}


def forget() -> None:
    """Empty the cache."""
    _cache.clear()


def compute_once(what: Hashable, tensors: Iterable[Tensor | None], compute: Callable[[], _T]) -> _T:
    """Return a value computed from these tensors, computing it on the first request only.

    Args:
        what: Key of the computation; another computation must have another key.
        tensors: All else that the value depends on, in a fixed order.
        compute: Computes the value, which nobody may change in place.
    """
    content = hashlib.blake2b()
    for tensor in tensors:
        content.update(repr(None if tensor is None else (tensor.shape, tensor.dtype)).encode())
        if tensor is not None:
            plain = tensor.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)
            content.update(plain.view(torch.uint8).numpy().tobytes())
    key = (what, content.digest())
    if key not in _cache:
        if len(_cache) >= MAX_CACHED_VALUES:
            _cache.clear()
        _cache[key] = compute()
    found: _T = _cache[key]
    return found
