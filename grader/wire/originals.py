"""What torch itself says of a tensor: nothing that a submission has put in its place is asked.

The classes in C cannot be changed, and have what ``Tensor`` and ``UntypedStorage`` have: methods
are called as ``BASE.clone(x)``, attributes read as ``shape_of(x)``.
"""

from __future__ import annotations

from sys import getprofile, gettrace, setprofile, settrace
from typing import Any

from torch import strided
from torch._C import DisableTorchFunction, StorageBase, TensorBase, _DisableTorchDispatch

BASE: Any = TensorBase
STORAGE: Any = StorageBase
STRIDED = strided
shape_of, layout_of, device_of = BASE.shape.__get__, BASE.layout.__get__, BASE.device.__get__
dtype_of, version_of, grad_of = BASE.dtype.__get__, BASE._version.__get__, BASE.grad.__get__

_requires_grad = BASE.requires_grad.__get__
_WATCHING = gettrace(), getprofile()  # such as a debugger's, before a submission is loaded


class alone:  # a context manager
    """Nobody sees what is asked here: no subclass, and no mode that was left open.

    Nor does any function of Python's run that a submission may put another in the place of.
    """

    def __enter__(self) -> None:
        self._held = DisableTorchFunction(), _DisableTorchDispatch()
        for one in self._held:
            one.__enter__()

    def __exit__(self, *exception: Any) -> None:
        for one in reversed(self._held):
            one.__exit__(*exception)


def end_watching() -> None:
    """Nobody sees, and changes, what the worker's own functions give: no hook of Python's."""
    trace, profile = _WATCHING
    if gettrace() is not trace:
        settrace(trace)
    if getprofile() is not profile:
        setprofile(profile)


def learns(tensor: Any) -> bool:
    """Whether a tensor requires a gradient."""
    with DisableTorchFunction():
        return bool(_requires_grad(tensor))


def is_on_meta(tensor: Any) -> bool:
    """Whether a tensor has no values."""
    with DisableTorchFunction():
        return bool(device_of(tensor).type == "meta")


def is_in_memory(tensor: Any) -> bool:
    """Whether a tensor has values, one beside the other."""
    return layout_of(tensor) is STRIDED and not is_on_meta(tensor)


def begins_at(tensor: Any) -> int:
    """Where the storage behind a tensor begins."""
    return int(STORAGE.data_ptr(BASE.untyped_storage(tensor)))


def size_behind(tensor: Any) -> int:
    """Of the storage of a tensor, in bytes."""
    return int(STORAGE.nbytes(BASE.untyped_storage(tensor)))


def is_torchs(tensor: Any) -> bool:
    """Whether torch has made the storage of a tensor, and not NumPy, say."""
    return bool(STORAGE.resizable(BASE.untyped_storage(tensor)))
