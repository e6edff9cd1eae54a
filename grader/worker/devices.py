"""Finds a tensor that is on the wrong device, on a machine that has only one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self
from weakref import ref

import torch

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor, device, empty, empty_strided, inference_mode, tensor
from torch._C import _current_graph_task_id
from torch.overrides import TorchFunctionMode

from grader.wire.originals import TENSOR_BASE, is_on_meta, pop_function_mode, push_function_mode
from grader.worker.refusals import can_be_elsewhere, refuse_mixed_devices, refuse_reading
from grader.worker.seeing import OperationWatcher

aten = torch.ops.aten

_FROM_NUMBERS = {torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor}
_NO_DISPATCH = Tensor.__torch_dispatch__
_SET_DATA = Tensor.data.__set__  # type: ignore[attr-defined]
_AT_PLACES = {Tensor.__getitem__, Tensor.__setitem__}
# Forward derivatives make zeros without memory, which end the process where they are computed with.
_WITH_MEMORY = {aten._efficientzerotensor.default: aten.zeros.default}
# Makes the sparse gradient of an embedding, which autograd would take for one on the CPU.
_SPARSE = aten._sparse_coo_tensor_with_dims_and_tensors.default


class SimulatedDevice(OperationWatcher):
    """Lets tensors on ``meta`` stand for another device, and refuses to mix the two devices.

    Every tensor on ``meta`` has a twin at home, on which the operation is really carried out. So
    a matmul with a tensor on the CPU is refused, which ``meta`` allows, and the 800 modules that
    the first operation on ``meta`` imports are not needed. Tensors without dimensions may mix, as
    they may on a GPU; but no value may be read back, nor determine the shape of a result.

    Args:
        home: The device of the twins, which is really there: the CPU or a GPU.

    Attributes:
        invented: Whether some tensor's values were unknown, so that random ones took their place.
    """

    def __init__(self, home: torch.device) -> None:
        super().__init__()
        self.home = home
        self.invented = False
        # By id of the tensor on meta, as long as that lives: temporary ones would take all memory.
        self._twins: dict[int, tuple[ref[Tensor], Tensor]] = {}
        self._odd: dict[int, Tensor] = {}  # by id: those on the other device without a stand-in

    def meet(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Carry out the operation on the twins, the real tensors behind those on ``meta``.

        Raises:
            MixedDevices: Its tensors lie on two devices.
            ReadsValues: It reads values, which are not there on ``meta``.
        """
        kwargs = dict(kwargs)
        tensors: list[Tensor] = []
        _map(tensors.append, [args, list(kwargs.values())])
        if any(type(one).__torch_dispatch__ is not _NO_DISPATCH for one in tensors):
            return NotImplemented  # what its class makes of it comes here again
        is_simulated = any(is_on_meta(x) or id(x) in self._odd for x in tensors)
        if is_simulated:
            refuse_reading(func, args, kwargs)
            refuse_mixed_devices(func, tensors, self._odd)
        target = kwargs.get("device")
        if target is not None:
            is_simulated = device(target).type == "meta"
            kwargs["device"] = self.home if is_simulated else device("cpu")
        args = _map(self._twin, args)
        kwargs = {name: _map(self._twin, value) for name, value in kwargs.items()}
        result = _WITH_MEMORY.get(func, func)(*args, **kwargs)
        if not is_simulated:
            return result
        if func is _SPARSE and _current_graph_task_id() >= 0:
            result = TENSOR_BASE.to_dense(result)
        given = {id(self._twin(one)): one for one in tensors}
        return _map(lambda value: self._stand_in(value, given), result)

    def __enter__(self) -> Self:
        push_function_mode(_KeepsValues(self))  # not kept: it holds this device
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        pop_function_mode()

    def _is_new(self, tensor: Tensor, known: set[int]) -> bool:
        return is_on_meta(tensor) and not self.knows(tensor)

    def make_stand_in(self, value: Tensor) -> Tensor:
        """Make a tensor on ``meta`` that stands for a real tensor, which becomes its twin."""
        with inference_mode(TENSOR_BASE.is_inference(value)):  # a view of a usual tensor is none
            stand_in = empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
            if offset := value.storage_offset():  # a backward tells by it which part this is
                whole = value.untyped_storage().nbytes() // value.element_size()
                behind = empty(whole, dtype=value.dtype, device="meta")
                stand_in = behind.as_strided(value.shape, value.stride(), offset)
        self.pair(stand_in, value)
        return stand_in

    def twin_of(self, value: Tensor) -> Tensor:
        """Return the twin of a tensor on ``meta``: the real tensor that it stands for.

        A tensor without a twin gets one with made-up values, and ``invented`` is set.
        """
        return self._twin(value)

    def knows(self, value: Tensor) -> bool:
        """Whether a tensor on ``meta`` has a twin: a real tensor that it stands for."""
        return id(value) in self._twins

    def pair(self, stand_in: Tensor, twin: Tensor) -> None:
        """Record that a tensor on ``meta`` stands for a real one, its twin, as long as it lives."""
        own, key = ref(self), id(stand_in)

        def forget(_: object) -> None:
            if (device := own()) is not None:
                device._twins.pop(key, None)

        self._twins[key] = (ref(stand_in, forget), twin)

    def _twin(self, value: Tensor) -> Tensor:
        if not is_on_meta(value):
            return value
        if id(value) not in self._twins:
            self.invented = True
            twin = empty_strided(value.shape, value.stride(), dtype=value.dtype, device=self.home)
            self.pair(value, twin.uniform_(-1, 1) if value.is_floating_point() else twin.fill_(1))
        return self._twins[id(value)][1]

    def _stand_in(self, value: Tensor, given: dict[int, Tensor]) -> Tensor:
        """Return what stands for a result: what was given if it is that, by id of its twin."""
        # A stand-in cannot say that its numbers are still to be conjugated, or negated.
        value = TENSOR_BASE.resolve_neg(TENSOR_BASE.resolve_conj(value))
        if not can_be_elsewhere(value):
            self._odd[id(value)] = value
            return value
        stand_in = given.get(id(value))
        if stand_in is None:
            return self.make_stand_in(value)
        if stand_in.shape != value.shape or stand_in.stride() != value.stride():
            stand_in.as_strided_(value.shape, value.stride())  # the twin was transposed in place
        return stand_in


class _KeepsValues(TorchFunctionMode):
    """Pairs tensors on ``meta`` with twins where no dispatched operation shows which they are.

    ``torch.tensor`` puts no values on ``meta``, nor does ``x[:, [-1]]`` the places that it makes a
    tensor of; ``x.data`` is a new tensor object, and one that is set to it becomes another.
    """

    def __init__(self, device: SimulatedDevice) -> None:
        self._device = device

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Make tensors of numbers on the CPU first, and recognise a new object for a known tensor.

        A result is such an object if it has the shape of the function's only tensor argument.
        """
        kwargs = dict(kwargs or {})
        if func in _FROM_NUMBERS:
            of = args[0].device if func is Tensor.new_tensor else None
            target = kwargs.pop("device", None) or of
            if target is None:
                return func(*args, **kwargs)
            if device(target).type != "meta":
                return func(*args, **kwargs, device=target)
            if any(map(_is_stand_in, (*args[of is not None :], *kwargs.values()))):
                return func(*args, **kwargs)  # it is there already
            return func(*args, **kwargs, device="cpu").to(target)
        if func in _AT_PLACES:
            args = (args[0], _with_places_as_tensors(args[1]), *args[2:])
        result = func(*args, **kwargs)
        if func == _SET_DATA and self._device.knows(args[1]):
            self._device.pair(args[0], self._device.twin_of(args[1]))
        if isinstance(result, Tensor) and is_on_meta(result):
            tensors: list[Tensor] = []
            _map(tensors.append, [args, list(kwargs.values())])
            if len(tensors) == 1 and not self._device.knows(result):
                (same,) = tensors
                if self._device.knows(same) and same.shape == result.shape:
                    self._device.pair(result, self._device.twin_of(same))
        return result


def allow_autocast() -> None:
    """Let ``torch.autocast`` name ``meta``, which torch refuses even where it is switched off."""
    begin = torch.autocast.__init__

    def begin_at_home(self: Any, device_type: str, *options: Any, **more: Any) -> None:
        begin(self, "cpu" if device_type == "meta" else device_type, *options, **more)

    torch.autocast.__init__ = begin_at_home  # type: ignore[method-assign]  # torch asks nobody


def _is_stand_in(value: Any) -> bool:
    return isinstance(value, Tensor) and is_on_meta(value)


def _with_places_as_tensors(index: Any) -> Any:
    """Return an index whose lists of numbers are tensors on the CPU, which torch takes as well."""
    if isinstance(index, tuple):
        return tuple(map(_with_places_as_tensors, index))
    is_list = isinstance(index, list | range) and index and all(isinstance(n, int) for n in index)
    return tensor(index, device="cpu") if is_list else index


def _map(change: Callable[[Tensor], Any], value: Any) -> Any:
    """Return a value with its tensors changed; they stand alone, or in lists and tuples."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        changed = [_map(change, item) for item in value]
        return changed if isinstance(value, list) else tuple(changed)
    return value
