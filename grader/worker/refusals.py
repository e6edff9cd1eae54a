"""What a simulated device refuses: to read values, and tensors on two devices."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import torch

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor, device

from grader.wire.originals import STRIDED, TENSOR_BASE, is_on_meta, layout_of
from grader.worker.seeing import ids_of

aten = torch.ops.aten


# What is copied, and indices, may be on the CPU; not what is copied to, indexed, or put there.
_FIRST_ALONE = ids_of(aten.copy_, aten.index)
_FIRST_AND_LAST = ids_of(aten.index_put, aten.index_put_, aten._index_put_impl_)
# Operations on single elements take a tensor without dimensions from any device; these do not.
_NO_SCALARS = ids_of(aten.stack, aten.index_select, aten.gather, aten.take, aten.embedding)
_COPY, _TO_COPY, _INDEX = ids_of(aten.copy_), ids_of(aten._to_copy), ids_of(aten.index)
_REPEAT_INTERLEAVE = id(aten.repeat_interleave.Tensor)

_READ_BACK = ids_of(aten._local_scalar_dense, aten.item, aten.equal, aten.is_nonzero, aten.allclose)
# Operations whose result has a shape that depends on values. They are listed by name: in inference
# mode others arrive whole that do not need values, such as `one_hot`.
_SHAPED_BY_VALUES = ids_of(
    *(aten.nonzero, aten.masked_select, aten.bincount),
    *(aten._unique2, aten.unique_dim, aten.unique_consecutive),
)
_MASK_DTYPES = (torch.bool, torch.uint8)


class ReadsValues(RuntimeError):
    """The submission reads values of a tensor on another device; on ``meta`` there are none."""


class CopiesToCPU(ReadsValues):
    """The submission moves a tensor from another device to the CPU."""


class CountsValues(ReadsValues):
    """How many numbers there are depends on values of a tensor on another device."""


class MixedDevices(RuntimeError):
    """An operation was given tensors on two devices."""


def refuse_reading(func: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise if an operation reads, counts or copies the values of a tensor without values."""
    if id(func) in _READ_BACK:
        raise ReadsValues(
            "a value is read back to decide what to do (`item`, `bool`, `equal`, `if tensor`); "
            "what is computed may depend on values, which operations are done may not"
        )
    if _leaves_for_the_cpu(func, args, kwargs):
        raise CopiesToCPU(
            "values are copied to the CPU (`cpu`, `tolist`, `numpy`), and on `meta` there are "
            "none; compute where the tensors are"
        )
    if _counts_values(func, args, kwargs):
        raise CountsValues(
            "a shape depends on values (`x[mask]`, `nonzero`, `unique`); what is computed may "
            "depend on them, how much is computed may not"
        )


def _leaves_for_the_cpu(func: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether an operation copies values from the other device to the CPU."""
    if id(func) in _COPY:
        return bool(args[0].device.type == "cpu")
    return id(func) in _TO_COPY and device(kwargs.get("device") or "meta").type == "cpu"


def _counts_values(func: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the shape of an operation's result depends on values."""
    if id(func) in _INDEX:
        masks = [x for x in args[1] if isinstance(x, Tensor) and x.dtype in _MASK_DTYPES]
        return any(is_on_meta(mask) for mask in masks)
    if id(func) == _REPEAT_INTERLEAVE:
        return kwargs.get("output_size") is None
    return id(func) in _SHAPED_BY_VALUES


def can_be_elsewhere(tensor: Tensor) -> bool:
    """Return whether ``meta`` can hold such a tensor: no sparse, nested or quantized one."""
    strided = layout_of(tensor) is STRIDED
    return (
        strided
        and not TENSOR_BASE.is_nested.__get__(tensor)
        and not TENSOR_BASE.is_quantized.__get__(tensor)
    )


def refuse_mixed_devices(func: Any, tensors: list[Tensor], elsewhere: Container[int]) -> None:
    """Raise if an operation's tensors lie on two devices, and it is none that may mix them.

    Args:
        func: The operation.
        tensors: Its tensors.
        elsewhere: The ids of those on the other device that ``meta`` cannot hold.
    """
    if id(func) in _FIRST_ALONE:
        tensors = tensors[:1]
    elif id(func) in _FIRST_AND_LAST:
        tensors = [tensors[0], tensors[-1]]
    for one in tensors:
        mixes = not TENSOR_BASE.dim(one) and id(func) not in _NO_SCALARS
        if not (mixes or is_on_meta(one) or id(one) in elsewhere):
            raise MixedDevices(
                f"a tensor of shape {tuple(one.shape)} stays on the CPU when the module and "
                "its input are on another device; make it on the input's device, or register it "
                "as a buffer"
            )
