"""How much a call makes on its way, and keeps: the same whatever the machine is at."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from grader.worker.copies import in_memory, place


class Counts(TorchDispatchMode):
    """Counts what operations make, and what is kept for a backward.

    A view makes nothing, nor does an operation in place.

    Attributes:
        made: How many numbers there were in all that was made.
        saved: How many tensors were kept for a backward.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made = self.saved = 0
        self._hooks = saved_tensors_hooks(self._save, lambda saved: saved)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports all of torch._dynamo, to switch it off

    def __enter__(self) -> Self:
        self._hooks.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._hooks.__exit__(*exception)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Do the operation, and count what is new of what it gives."""
        kwargs = kwargs or {}
        behind = {place(tensor) for tensor in in_memory([args, list(kwargs.values())])}
        result = func(*args, **kwargs)
        self.made += sum(x.numel() for x in in_memory(result) if place(x) not in behind)
        return result

    def _save(self, tensor: Tensor) -> Tensor:
        self.saved += 1
        return tensor.detach()
