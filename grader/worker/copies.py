"""Finds a tensor that holds the same numbers many times over, whichever operation made it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.wire.messages import Copies

LARGE = 1 << 18  # numbers in a storage, beyond which only the part that is in use is looked at
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
        """Do the operation; look at what is new before it, and at all that it gives."""
        kwargs = kwargs or {}
        self._look([args, list(kwargs.values())], anew=False)
        result = func(*args, **kwargs)
        self._look(result, anew=True)
        return result

    def _look(self, value: Any, anew: bool) -> None:
        if isinstance(value, list | tuple):
            for item in value:
                self._look(item, anew)
        elif isinstance(value, Tensor):
            self._look_at(value, anew)

    def _look_at(self, tensor: Tensor, anew: bool) -> None:
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            return
        if not tensor.is_floating_point():
            return
        place = tensor.untyped_storage().data_ptr()
        if anew or place not in self._met:
            self._met.add(place)
            count = repeated(_in_memory(tensor), self._asked.times)
            if self._asked.least <= count <= self._asked.most:
                self.most = max(self.most, count)


def _in_memory(tensor: Tensor) -> Tensor:
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
