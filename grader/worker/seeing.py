"""Modes that see each operation of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.wire import values
from grader.wire.originals import alone, begins_at, is_in_memory, is_torchs


class Unseen(Exception):
    """What a call gave came of operations that were hidden; the text is for the learner."""


class Sees(TorchDispatchMode):
    """Is told of each operation, by ``meet``.

    Attributes:
        seen: How many there were, since it was entered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __enter__(self) -> Self:
        self.seen = 0
        super().__enter__()
        return self

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports all of torch._dynamo, to switch it off

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Carry out an operation."""
        self.seen += 1
        return self.meet(func, args, kwargs or {})

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The same, and see what it is about."""
        raise NotImplementedError

    def expect_to_have_seen(self, result: Any, there: Sequence[Tensor]) -> None:
        """Whoever was not told of a single operation was taken off before them.

        Args:
            result: Of a call.
            there: The tensors that there were before it.

        Raises:
            Unseen: It has a tensor that torch made in the call.
        """
        if self.seen:
            return
        tensors: list[Tensor] = []
        values.encode(result, tensors)
        with alone():
            known = {begins_at(x) for x in there if is_in_memory(x)}
            hidden = any(self._is_new(x, known) for x in tensors)
        if hidden:
            raise Unseen(
                "the call hides its operations, of which something was to be seen; call neither "
                "`_DisableTorchDispatch` nor `_disable_current_modes`"
            )

    def _is_new(self, tensor: Tensor, known: set[int]) -> bool:
        return is_in_memory(tensor) and is_torchs(tensor) and begins_at(tensor) not in known
