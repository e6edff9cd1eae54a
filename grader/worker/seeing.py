"""Dispatch modes that see each operation of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.wire import values
from grader.wire.originals import (
    is_in_memory,
    is_torch_allocated,
    no_overrides,
    pop_dispatch_mode,
    push_dispatch_mode,
    storage_address,
)


class HiddenOperations(Exception):
    """A call's result came from operations hidden from the mode; the text is for the learner."""


def ids_of(*operations: Any) -> dict[int, Any]:
    """Return all overloads by ID: a file can change what they say of themselves."""
    return {id(x): x for one in operations for x in (getattr(one, n) for n in one.overloads())}


class OperationWatcher(TorchDispatchMode):
    """A dispatch mode that hands each operation to its method ``meet``.

    What a submission puts in the place of the base class's methods is never given a watcher.

    Attributes:
        seen: How many operations there were since the mode was entered.
    """

    __getattribute__ = object.__getattribute__
    __setattr__ = object.__setattr__

    def __init__(self) -> None:
        self.seen = 0

    def __enter__(self) -> Self:
        self.seen = 0
        push_dispatch_mode(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        pop_dispatch_mode(None)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports all of torch._dynamo, to switch it off

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Count an operation, and carry it out by ``meet``."""
        self.seen += 1
        return self.meet(func, args, kwargs or {})

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out an operation, and examine its tensors for what the subclass looks for."""
        raise NotImplementedError

    def expect_to_have_seen(self, result: Any, there: Sequence[Tensor]) -> None:
        """Raise if a call hid its operations: a mode that saw none of them was switched off.

        Args:
            result: The result of the call.
            there: The tensors that existed before the call.

        Raises:
            HiddenOperations: No operation was seen, yet torch made a tensor of the result in
                this call.
        """
        if self.seen:
            return
        tensors: list[Tensor] = []
        values.encode(result, tensors)
        with no_overrides():
            known = {storage_address(x) for x in there if is_in_memory(x)}
            hidden = any(self._is_new(x, known) for x in tensors)
        if hidden:
            raise HiddenOperations(
                "the call hides its operations, of which something was to be seen; call neither "
                "`_DisableTorchDispatch` nor `_disable_current_modes`"
            )

    def _is_new(self, tensor: Tensor, known: set[int]) -> bool:
        return (
            is_in_memory(tensor)
            and is_torch_allocated(tensor)
            and storage_address(tensor) not in known
        )
