"""Finds where NaN comes from: the first operation that makes it of numbers that are none."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

from torch import Tensor

from grader.worker.copies import in_memory
from grader.worker.seeing import Sees


class NotANumber(ArithmeticError):
    """An operation made NaN; the message names it, and the infinities that it was given."""


class StopsAtNaN(Sees):
    """Raises ``NotANumber`` where an operation makes NaN of tensors that hold none.

    What makes a tensor of no tensor is let be: memory that nobody has written may hold anything.
    """

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Do the operation, and look at what it makes."""
        given = [args, list(kwargs.values())]
        before = _oddities(given)
        result = func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        if "nan" not in before and "empty" not in name and "nan" in _oddities(result):
            raise NotANumber(" ".join([name, *sorted(before)]))
        return result


def _oddities(value: Any) -> set[str]:
    """Which of `nan`, `+inf` and `-inf` stand in what an operation is given or gives."""
    if isinstance(value, list | tuple):
        return {odd for item in value for odd in _oddities(item)}
    numbers = [value] if isinstance(value, float) else []
    if isinstance(value, Tensor) and value.is_floating_point():
        tensors = [tensor.detach() for tensor in in_memory(value)]
        numbers = [x for one in tensors for x in one[~one.isfinite()].unique().tolist()]
    return {"nan" if isnan(x) else f"{x:+}" for x in numbers if not isfinite(x)}
