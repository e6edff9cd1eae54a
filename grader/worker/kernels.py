"""Keeps torch's own kernels in place, by which the worker reads tensors and compares them."""

from __future__ import annotations

from typing import Any

import torch
from torch._C import _dispatch_library

GUARDED_NAMESPACES = ("aten", "_")  # torch's operations; those of every namespace
# Of these, which torch adds to on demand, the first see no values, the second nothing outside vmap.
FREE_KEYS = ("Meta", "FuncTorchBatched")


def keep_kernels() -> None:
    """Refuse kernels for torch's operations from here on; other operations may be added."""
    torch._C._dispatch_library = _library  # type: ignore[assignment]  # it makes the same


def _library(kind: str, namespace: str, dispatch_key: str = "", *where: Any) -> Any:
    if namespace in GUARDED_NAMESPACES and dispatch_key not in FREE_KEYS:
        raise RuntimeError(
            f"no kernel of `{namespace}`, torch's own operations, can be replaced here; define an "
            "operation of your own"
        )
    return _dispatch_library(kind, namespace, dispatch_key, *where)
