"""Finds a tensor that holds the same numbers many times over, whichever operation made it."""

from __future__ import annotations

from math import nan
from typing import Any

from numpy import add, concatenate, frexp, isfinite, ndarray
from torch import Tensor, bfloat16, float64, ops, uint8, view_as_real

from grader.wire.messages import CopyCriteria
from grader.wire.originals import (
    TENSOR_BASE,
    is_in_memory,
    no_overrides,
    storage_address,
    storage_nbytes,
)
from grader.worker.seeing import OperationWatcher, ids_of

MAX_SCANNED_NUMBERS = 1 << 17  # in a storage; of a larger one, only what is in use is looked at
MAX_ROUND_BITS = 8  # of a number that is an error of rounding: many of these are equal by chance
# Numbers this close are the same, computed in another order. Of a hundred thousand products, many
# are closer in float32 by chance.
SAME_RTOL, SAME_RTOL_IN_FLOAT64 = 1e-6, 1e-12
# Operations whose result holds what its memory happens to hold.
_UNFILLED = ids_of(
    *(ops.aten.empty, ops.aten.empty_like, ops.aten.empty_strided),
    *(ops.aten.new_empty, ops.aten.new_empty_strided),
)


class CopyCounter(OperationWatcher):
    """Looks at the memory behind each tensor that an operation takes or returns.

    A view holds nothing of its own: an expanded tensor is no copy until something makes it one,
    as a matmul does that has to broadcast it.

    Args:
        asked: The copies to look for.

    Attributes:
        most: The most different numbers that any tensor holds ``asked.times`` times or more, out
            of those tensors that fit ``asked``; 0 where none does.
    """

    def __init__(self, asked: CopyCriteria) -> None:
        super().__init__()
        self.most = 0
        self._asked = asked
        self._met: set[int] = set()  # hashes of the numbers that were counted

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out the operation; look at its inputs before it, and at its new outputs after."""
        with no_overrides():
            given = _floats([args, list(kwargs.values())])
            for tensor in given:  # NumPy may have filled it since the operation that made it
                self._look_at(tensor)
            input_storages = (
                set() if func._schema.is_mutable else {storage_address(tensor) for tensor in given}
            )
        result = func(*args, **kwargs)
        with no_overrides():
            for tensor in _floats(result):
                if id(func) in _UNFILLED:  # what it holds by chance may be what another has left
                    TENSOR_BASE.fill_(tensor, nan)
                elif storage_address(tensor) not in input_storages:  # else a view of an input
                    self._look_at(tensor)
        return result

    def _look_at(self, tensor: Tensor) -> None:
        for numbers in _numbers_behind(tensor):
            self._count(numbers)

    def _count(self, numbers: Tensor) -> None:
        if TENSOR_BASE.numel(numbers) < self._asked.times * self._asked.least:
            return
        as_bytes = TENSOR_BASE.view(TENSOR_BASE.to(numbers, "cpu"), uint8)
        met = hash(TENSOR_BASE.numpy(as_bytes).tobytes())
        if met in self._met:
            return
        self._met.add(met)
        found = TENSOR_BASE.numpy(TENSOR_BASE.to(numbers, "cpu", float64))
        dtype = TENSOR_BASE.dtype.__get__(numbers)
        if dtype is not bfloat16:  # all of whose numbers are round
            found = found[frexp(found)[0] * 2**MAX_ROUND_BITS % 1 != 0]
        rtol = SAME_RTOL_IN_FLOAT64 if dtype is float64 else SAME_RTOL
        count = count_repeated(found, self._asked.times, rtol)
        if self._asked.least <= count <= self._asked.most:
            self.most = max(self.most, count)


def _floats(value: Any) -> list[Tensor]:
    return [
        one
        for one in in_memory(value)
        if TENSOR_BASE.is_floating_point(one) or TENSOR_BASE.is_complex(one)
    ]


def in_memory(value: Any) -> list[Tensor]:
    """Return the tensors among an operation's inputs or outputs that lie in memory."""
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in in_memory(item)]
    return [value] if isinstance(value, Tensor) and is_in_memory(value) else []


def _numbers_behind(tensor: Tensor) -> list[Tensor]:
    """Return the numbers in the memory behind a tensor, all and those in use, each place once.

    Returns:
        One or two tensors of shape (n,).
    """
    tensor = TENSOR_BASE.resolve_neg(TENSOR_BASE.detach(tensor))
    if TENSOR_BASE.is_complex(tensor):
        tensor = view_as_real(TENSOR_BASE.resolve_conj(tensor))
    count = storage_nbytes(tensor) // TENSOR_BASE.element_size(tensor)
    whole = [_flat(tensor, count, 0)] if count <= MAX_SCANNED_NUMBERS else []
    if whole and TENSOR_BASE.numel(tensor) >= count:
        return whole
    return [*whole, _in_use(tensor)]


def _in_use(tensor: Tensor) -> Tensor:
    for axis, step in enumerate(TENSOR_BASE.stride(tensor)):
        if not step and TENSOR_BASE.size(tensor, axis):
            tensor = TENSOR_BASE.narrow(tensor, axis, 0, 1)
    steps = zip(TENSOR_BASE.size(tensor), TENSOR_BASE.stride(tensor), strict=True)
    extent = 1 + sum((size - 1) * step for size, step in steps)
    if 0 < extent < TENSOR_BASE.numel(tensor):  # a place is in use more than once, as by `unfold`
        return _flat(tensor, extent, TENSOR_BASE.storage_offset(tensor))
    # A tensor with one number along each axis but one is flat already, and may be strided.
    return TENSOR_BASE.contiguous(TENSOR_BASE.flatten(tensor))  # type: ignore[no-any-return]


def _flat(tensor: Tensor, count: int, start: int) -> Tensor:
    return TENSOR_BASE.as_strided(tensor, (count,), (1,), start)  # type: ignore[no-any-return]  # of C


def count_repeated(numbers: ndarray[Any, Any], times: int, rtol: float) -> int:
    """Count the different numbers that occur ``times`` times or more, leaving out infinities.

    Args:
        numbers: Numbers in float64, (n,); NaN is left out too.
        times: How often a number has to occur; at least 1.
        rtol: Numbers whose relative difference is no larger count as the same.
    """
    found = numbers[isfinite(numbers)]
    if found.size < times:
        return 0
    found.sort()
    apart = found[1:] - found[:-1] > rtol * abs(found[1:])
    edges = concatenate([[0], apart.nonzero()[0] + 1, [found.size]])  # of each number's run
    return int(add.reduce(edges[1:] - edges[:-1] >= times))  # `sum` calls what a file can replace
