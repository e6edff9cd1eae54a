"""Finds where NaN comes from: the first operation that makes NaN although its inputs hold none."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

from torch import Tensor

from grader.worker.copies import in_memory
from grader.worker.seeing import OperationWatcher


class NotANumber(ArithmeticError):
    """An operation made NaN; the message names the operation and the infinities in its inputs."""


class StopsAtNaN(OperationWatcher):
    """Raises ``NotANumber`` where an operation makes NaN although its inputs hold none.

    Operations such as ``empty`` are exempt: memory that nobody has written may hold anything.
    """

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out the operation, and look for NaN in its outputs."""
        given = [args, list(kwargs.values())]
        before = _oddities(given)
        result = func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        if "nan" not in before and "empty" not in name and "nan" in _oddities(result):
            raise NotANumber(" ".join([name, *sorted(before)]))
        return result


def _oddities(value: Any) -> set[str]:
    """Return which of `nan`, `+inf` and `-inf` occur in an operation's inputs or outputs."""
    if isinstance(value, list | tuple):
        return {odd for item in value for odd in _oddities(item)}
    numbers = [value] if isinstance(value, float) else []
    if isinstance(value, Tensor) and value.is_floating_point():
        tensors = [tensor.detach() for tensor in in_memory(value)]
        numbers = [x for one in tensors for x in one[~one.isfinite()].unique().tolist()]
    return {"nan" if isnan(x) else f"{x:+}" for x in numbers if not isfinite(x)}
