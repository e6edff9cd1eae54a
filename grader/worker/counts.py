"""Counts what a call computes on its way and keeps; a busy machine does not change the counts."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, is_grad_enabled

from grader.wire.originals import (
    TENSOR_BASE,
    no_overrides,
    requires_grad_of,
    saving_hooks,
    storage_address,
    top_saving_hooks,
)
from grader.worker.copies import in_memory
from grader.worker.seeing import OperationWatcher


class AllocationCounter(OperationWatcher):
    """Counts the numbers that operations make, and the tensors kept for a backward.

    A view makes no numbers, nor does an operation in place.

    Attributes:
        made: How many numbers the operations made in all.
        saved: How many tensors were kept for a backward.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made = self.saved = 0
        self._both = self._save, lambda saved: saved
        self._hooks = saving_hooks(*self._both)

    def __enter__(self) -> Self:
        self._hooks.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._hooks.__exit__(*exception)

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out the operation, and count what is new in its outputs."""
        with no_overrides():
            given = in_memory([args, list(kwargs.values())])
            input_storages = {storage_address(tensor) for tensor in given}
            if is_grad_enabled() and top_saving_hooks(True) != self._both:  # ours are not in use
                self.saved += any(requires_grad_of(tensor) for tensor in given)
        result = func(*args, **kwargs)
        with no_overrides():
            self.made += sum(
                TENSOR_BASE.numel(x)
                for x in in_memory(result)
                if storage_address(x) not in input_storages
            )
        return result

    def _save(self, tensor: Tensor) -> Tensor:
        self.saved += 1
        return TENSOR_BASE.detach(tensor)  # type: ignore[no-any-return]  # of C
