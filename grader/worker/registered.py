"""What is registered with a module, read from where ``nn.Module`` keeps it.

A submission may override its methods, and so say of itself what it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn


def parameters(module: nn.Module) -> dict[str, Tensor]:
    """All parameters by name; one that goes by two names has both."""
    return dict(_walk(module, "_parameters", "", ()))


def tensors(module: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers by name."""
    return {**parameters(module), **dict(_walk(module, "_buffers", "", ()))}


def _walk(
    module: nn.Module, kept: str, prefix: str, above: tuple[int, ...]
) -> Iterator[tuple[str, Tensor]]:
    held = object.__getattribute__(module, "__dict__")
    for name, value in _items(held.get(kept)):
        if issubclass(type(value), Tensor):
            yield f"{prefix}{name}", value
    for name, inner in _items(held.get("_modules")):
        if issubclass(type(inner), nn.Module) and id(inner) not in above:
            yield from _walk(inner, kept, f"{prefix}{name}.", (*above, id(module)))


def _items(held: Any) -> list[tuple[Any, Any]]:
    return list(dict.items(held)) if issubclass(type(held), dict) else []
