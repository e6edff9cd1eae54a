"""Read tensors through torch's classes in C, so that nothing a submission has replaced is used.

These classes cannot be changed, and have what ``Tensor`` and ``UntypedStorage`` have: methods are
called as ``TENSOR_BASE.clone(x)``, attributes are read as ``shape_of(x)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sys import getprofile, gettrace, setprofile, settrace
from typing import Any

from torch import Tensor, strided
from torch._C import (
    DisableTorchFunction,
    StorageBase,
    TensorBase,
    _autograd,
    _DisablePythonDispatcher,
    _DisableTorchDispatch,
    _pop_torch_dispatch_stack,
    _pop_torch_function_stack,
    _push_on_torch_dispatch_stack,
    _push_on_torch_function_stack,
)

TENSOR_BASE: Any = TensorBase
STORAGE_BASE: Any = StorageBase
STRIDED = strided
shape_of, layout_of, device_of = (
    TENSOR_BASE.shape.__get__,
    TENSOR_BASE.layout.__get__,
    TENSOR_BASE.device.__get__,
)
dtype_of, version_of, grad_of, hooks_of, late_hooks_of = (
    TENSOR_BASE.dtype.__get__,
    TENSOR_BASE._version.__get__,
    TENSOR_BASE.grad.__get__,
    TENSOR_BASE._backward_hooks.__get__,
    TENSOR_BASE._post_accumulate_grad_hooks.__get__,
)
attributes_of: Any = vars(Tensor)["__dict__"].__get__  # a subclass may define a `__dict__`
push_dispatch_mode, pop_dispatch_mode = _push_on_torch_dispatch_stack, _pop_torch_dispatch_stack
push_function_mode, pop_function_mode = _push_on_torch_function_stack, _pop_torch_function_stack

_push_saving_hooks: Any = _autograd._push_saved_tensors_default_hooks
_pop_saving_hooks: Any = _autograd._pop_saved_tensors_default_hooks
top_saving_hooks: Any = _autograd._top_saved_tensors_default_hooks
_requires_grad = TENSOR_BASE.requires_grad.__get__
_ORIGINAL_HOOKS = gettrace(), getprofile()  # a debugger's, say, from before a submission


class no_overrides:  # a context manager
    """A context in which no tensor subclass and no mode that was left open sees operations.

    Nor does any Python function run that a submission may have replaced, or put before a kernel.
    """

    def __enter__(self) -> None:
        self._held = (
            DisableTorchFunction(),
            _DisableTorchDispatch(),
            _DisablePythonDispatcher(),
        )
        for one in self._held:
            one.__enter__()

    def __exit__(self, *exception: Any) -> None:
        for one in reversed(self._held):
            one.__exit__(*exception)


class saving_hooks:  # a context manager
    """A context in which tensors kept for a backward pass through these functions.

    Args:
        pack: Takes a tensor, and returns what is kept.
        unpack: Takes what is kept, and returns the tensor.
    """

    def __init__(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        self._both = pack, unpack

    def __enter__(self) -> None:
        _push_saving_hooks(*self._both)

    def __exit__(self, *exception: Any) -> None:
        _pop_saving_hooks()


@contextmanager
def no_saving_hooks() -> Iterator[None]:
    """A context in which the hooks that are in place are set aside."""
    held = []
    while (both := top_saving_hooks(True)) is not None:
        _pop_saving_hooks()
        held.append(both)
    try:
        yield
    finally:
        for both in reversed(held):
            _push_saving_hooks(*both)


def restore_hooks() -> None:
    """Put back Python's trace and profile hooks: a submission's could change a worker's results."""
    trace, profile = _ORIGINAL_HOOKS
    if gettrace() is not trace:
        settrace(trace)
    if getprofile() is not profile:
        setprofile(profile)


def requires_grad_of(tensor: Any) -> bool:
    """Return whether a tensor requires a gradient."""
    with DisableTorchFunction():
        return bool(_requires_grad(tensor))


def is_on_meta(tensor: Any) -> bool:
    """Return whether a tensor lies on the ``meta`` device, and so has no values."""
    with DisableTorchFunction():
        return bool(device_of(tensor).type == "meta")


def is_in_memory(tensor: Any) -> bool:
    """Return whether a tensor has values and a strided layout in memory; one of zeros has none."""
    with DisableTorchFunction():
        strided = layout_of(tensor) is STRIDED and not is_on_meta(tensor)
        return strided and not TENSOR_BASE._is_zerotensor(tensor)


def storage_address(tensor: Any) -> int:
    """Return the address at which the storage behind a tensor begins."""
    return int(STORAGE_BASE.data_ptr(TENSOR_BASE.untyped_storage(tensor)))


def storage_nbytes(tensor: Any) -> int:
    """Return the size of the storage behind a tensor, in bytes."""
    return int(STORAGE_BASE.nbytes(TENSOR_BASE.untyped_storage(tensor)))


def is_torch_allocated(tensor: Any) -> bool:
    """Return whether torch allocated the storage of a tensor, not NumPy, say."""
    return bool(STORAGE_BASE.resizable(TENSOR_BASE.untyped_storage(tensor)))
