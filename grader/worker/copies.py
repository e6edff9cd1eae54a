"""Finds a tensor that holds the same numbers many times over, whichever operation made it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.wire.messages import Copies

LARGE = 1 << 17  # numbers in a storage, beyond which only the part that is in use is looked at
ALIKE = 1e-6  # of a number: the same, computed in another order


class CountsCopies(TorchDispatchMode):
    """Looks at what lies in memory behind each tensor that an operation is given or gives.

    A view holds nothing of its own: an expanded tensor is no copy until something makes it one,
    as a matmul does that has to broadcast it.

    Args:
        asked: What is looked for.

    Attributes:
        most: How many different numbers a tensor holds so many times each, of those that are
            looked for; 0 where none does.
    """

    def __init__(self, asked: Copies) -> None:
        super().__init__()
        self.most = 0
        self._asked = asked
        self._met: set[int] = set()  # where storages begin that were looked at

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports all of torch._dynamo, to switch it off

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Do the operation; look at what is new before it, and at what it makes or changes."""
        kwargs = kwargs or {}
        given = _floats([args, list(kwargs.values())])
        for tensor in given:
            if place(tensor) not in self._met:  # NumPy may have made it
                self._look_at(tensor)
        result = func(*args, **kwargs)
        behind = set() if func._schema.is_mutable else {place(tensor) for tensor in given}
        for tensor in _floats(result):
            if place(tensor) not in behind:  # else it is a view of what was looked at
                self._look_at(tensor)
        return result

    def _look_at(self, tensor: Tensor) -> None:
        self._met.add(place(tensor))
        count = repeated(_numbers_behind(tensor), self._asked.times)
        if self._asked.least <= count <= self._asked.most:
            self.most = max(self.most, count)


def _floats(value: Any) -> list[Tensor]:
    return [tensor for tensor in in_memory(value) if tensor.is_floating_point()]


def in_memory(value: Any) -> list[Tensor]:
    """The tensors among what an operation takes or gives that lie in memory."""
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in in_memory(item)]
    is_there = isinstance(value, Tensor) and value.layout is torch.strided
    return [value] if is_there and value.device.type != "meta" else []


def place(tensor: Tensor) -> int:
    """Where the storage of a tensor begins."""
    return tensor.untyped_storage().data_ptr()


def _numbers_behind(tensor: Tensor) -> Tensor:
    """All numbers behind a tensor, each once, (n,)."""
    tensor = tensor.detach()
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    if count <= LARGE:
        return tensor.as_strided((count,), (1,), 0)
    for axis, step in enumerate(tensor.stride()):
        tensor = tensor.narrow(axis, 0, 1) if not step and tensor.size(axis) else tensor
    return tensor.flatten()


def repeated(numbers: Tensor, times: int) -> int:
    """How many different numbers are there so many times or more; infinities are none.

    Args:
        numbers: Of any float dtype, (n,).
        times: At least 1.
    """
    numbers = numbers[numbers.isfinite()].double().sort().values
    if numbers.numel() < times:
        return 0
    apart = numbers.diff() > ALIKE * numbers[1:].abs()
    starts = apart.nonzero().flatten() + 1  # of each number but the first
    ends = torch.cat([starts, starts.new_tensor([len(numbers)])])
    return int((ends.diff(prepend=ends.new_zeros(1)) >= times).sum())
