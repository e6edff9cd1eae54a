"""Counts what a call computes on its way and keeps; a busy machine does not change the counts."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, is_grad_enabled
from torch._C._autograd import _top_saved_tensors_default_hooks as top_hooks
from torch.autograd.graph import saved_tensors_hooks

from grader.wire.originals import BASE, alone, begins_at, learns
from grader.worker.copies import in_memory
from grader.worker.seeing import Sees


class Counts(Sees):
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
        self._hooks = saved_tensors_hooks(*self._both)

    def __enter__(self) -> Self:
        self._hooks.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._hooks.__exit__(*exception)

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out the operation, and count what is new in its outputs."""
        with alone():
            given = in_memory([args, list(kwargs.values())])
            behind = {begins_at(tensor) for tensor in given}
            if is_grad_enabled() and top_hooks(True) != self._both:  # our hooks are not in use
                self.saved += any(learns(tensor) for tensor in given)
        result = func(*args, **kwargs)
        with alone():
            self.made += sum(BASE.numel(x) for x in in_memory(result) if begins_at(x) not in behind)
        return result

    def _save(self, tensor: Tensor) -> Tensor:
        self.saved += 1
        return BASE.detach(tensor)  # type: ignore[no-any-return]  # of C
