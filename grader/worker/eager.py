"""Runs as it is written what a submission has ``torch.compile`` compile.

That changes no result. A worker may start no compiler, and to import torch's takes it seconds.
"""

from __future__ import annotations

from typing import Any

import torch


def compile_nothing() -> None:
    """Make ``torch.compile``, as a call and as a decorator, give back what it is given."""
    torch.compile = _compile


def _compile(model: Any = None, **options: Any) -> Any:
    return (lambda given: given) if model is None else model
