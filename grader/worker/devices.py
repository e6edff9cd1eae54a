"""Finds a tensor on another device without having another device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# A copy is the way from one device to another, and indices may stay on the CPU.
_MAY_MIX = {torch.ops.aten.copy_, torch.ops.aten.index, torch.ops.aten.index_put_}


_FROM_NUMBERS = {torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor}
_READ_BACK = {torch.ops.aten._local_scalar_dense, torch.ops.aten.equal, torch.ops.aten.is_nonzero}


class ReadsValues(RuntimeError):
    """A value was read back from another device, to be branched on."""


class MixedDevices(RuntimeError):
    """An operation met tensors of two devices."""


class OneDevice(TorchDispatchMode):
    """Lets tensors on ``meta`` stand for another device, and refuses to mix them with its own.

    Every tensor on ``meta`` has a twin at home that the operation is really done on. So a
    matmul with a tensor on the CPU is refused, which ``meta`` allows, and the 800 modules that its
    first operation imports are not needed. Tensors without dimensions may mix, as they may on a
    GPU; but no value may be read back.

    Args:
        home: Where twins lie: the device that is really there, the CPU or a GPU.

    Attributes:
        invented: Whether some tensor's values are not known, and are others than it should have.
    """

    def __init__(self, home: torch.device) -> None:
        super().__init__()
        self.home = home
        self.invented = False
        self._values = _KeepsValues(self)
        self._twins: dict[int, tuple[Tensor, Tensor]] = {}  # by id of the tensor on meta
        self._stand_ins: dict[int, tuple[Tensor, Tensor]] = {}  # by id of the twin

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports all of torch._dynamo, to switch it off

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Do the operation on the twins, unless its tensors lie on two devices."""
        kwargs = dict(kwargs or {})
        tensors: list[Tensor] = []
        _map(tensors.append, [args, list(kwargs.values())])
        here = any(x.device.type == "meta" for x in tensors)
        if here and func.overloadpacket in _READ_BACK:
            raise ReadsValues(
                "a value is read back to decide what to do (`item`, `bool`, `equal`, `if tensor`); "
                "what is computed may depend on values, which operations are done may not"
            )
        if here and func.overloadpacket not in _MAY_MIX:
            _refuse_strangers(tensors)
        target = kwargs.get("device")
        if target is not None:
            here = torch.device(target).type == "meta"
            kwargs["device"] = self.home if here else torch.device("cpu")
        args = _map(self._twin, args)
        kwargs = {name: _map(self._twin, value) for name, value in kwargs.items()}
        result = func(*args, **kwargs)
        return _map(self._stand_in, result) if here else result

    def __enter__(self) -> Self:
        self._values.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._values.__exit__(*exception)

    def there(self, value: Tensor) -> Tensor:
        """What stands on ``meta`` for a tensor at home."""
        stand_in = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device="meta"
        )
        self.pair(stand_in, value)
        return stand_in

    def here(self, value: Tensor) -> Tensor:
        """What a tensor on ``meta`` stands for."""
        return self._twin(value)

    def knows(self, value: Tensor) -> bool:
        """Whether a tensor on ``meta`` stands for one at home."""
        return id(value) in self._twins

    def pair(self, stand_in: Tensor, twin: Tensor) -> None:
        """Let a tensor on ``meta`` stand for one at home."""
        self._twins[id(stand_in)] = (stand_in, twin)
        self._stand_ins[id(twin)] = (stand_in, twin)  # which holds its id

    def _twin(self, value: Tensor) -> Tensor:
        if value.device.type != "meta":
            return value
        if id(value) not in self._twins:
            self.invented = True
            twin = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device=self.home
            )
            self.pair(value, twin.uniform_(-1, 1) if value.is_floating_point() else twin.fill_(1))
        return self._twins[id(value)][1]

    def _stand_in(self, value: Tensor) -> Tensor:
        if id(value) not in self._stand_ins:
            self.there(value)
        stand_in, _ = self._stand_ins[id(value)]
        if stand_in.shape != value.shape or stand_in.stride() != value.stride():
            stand_in.as_strided_(value.shape, value.stride())  # it was transposed in place
        return stand_in


class _KeepsValues(TorchFunctionMode):
    """Keeps what a tensor on ``meta`` stands for where no operation tells it.

    ``torch.tensor`` puts nothing there, and ``x.data`` is another tensor.
    """

    def __init__(self, device: OneDevice) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Make tensors of numbers on the CPU, and know one that is the same as another."""
        kwargs = dict(kwargs or {})
        if func in _FROM_NUMBERS:
            of = args[0].device if func is Tensor.new_tensor else None
            target = kwargs.pop("device", None) or of
            if target is not None and torch.device(target).type == "meta":
                return func(*args, **kwargs, device="cpu").to(target)
            return func(*args, **kwargs, **({} if target is None else {"device": target}))
        result = func(*args, **kwargs)
        if isinstance(result, Tensor) and result.device.type == "meta":
            tensors: list[Tensor] = []
            _map(tensors.append, [args, list(kwargs.values())])
            if len(tensors) == 1 and not self._device.knows(result):
                (same,) = tensors
                if self._device.knows(same) and same.shape == result.shape:
                    self._device.pair(result, self._device.here(same))
        return result


def _map(change: Callable[[Tensor], Any], value: Any) -> Any:
    """A value with its tensors changed: operations take and give them alone, in lists or tuples."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        changed = [_map(change, item) for item in value]
        return changed if isinstance(value, list) else tuple(changed)
    return value


def _refuse_strangers(tensors: list[Tensor]) -> None:
    for tensor in tensors:
        if tensor.dim() and tensor.device.type != "meta":
            raise MixedDevices(
                f"a tensor of shape {tuple(tensor.shape)} stays on the CPU when the module and "
                "its input are on another device; make it on the input's device, or register it "
                "as a buffer"
            )
