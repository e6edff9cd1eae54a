"""Keeps torch's own kernels in place, by which the worker reads tensors and compares them."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch._C import _dispatch_library

from grader.worker.rules import outwards

GUARDED_NAMESPACES = ("aten", "_")  # torch's operations; those of every namespace
# Of these, which torch adds to on demand, the first see no values, the second nothing outside vmap.
FREE_KEYS = ("Meta", "FuncTorchBatched")
# As it is first imported, it replaces a kernel and takes that back at once.
JAGGED_TENSORS = "torch.nested._internal.ops"


def keep_kernels() -> None:
    """Refuse kernels for torch's operations from here on; other operations may be added."""
    torch._C._dispatch_library = _library  # type: ignore[assignment]  # it makes the same


def _library(kind: str, namespace: str, dispatch_key: str = "", *where: Any) -> Any:
    if namespace in GUARDED_NAMESPACES and dispatch_key not in FREE_KEYS:
        callers = (one.f_globals.get("__name__") for one in outwards(sys._getframe(1)))
        if JAGGED_TENSORS in callers:
            return _IdleLibrary()
        raise RuntimeError(
            f"no kernel of `{namespace}`, torch's own operations, can be replaced here; define an "
            "operation of your own"
        )
    return _dispatch_library(kind, namespace, dispatch_key, *where)


class _IdleLibrary:
    """A library that registers nothing, whoever asks for it."""

    def impl(self, *_: Any) -> None:
        """Register no kernel."""

    def reset(self) -> None:
        """Take nothing back."""
