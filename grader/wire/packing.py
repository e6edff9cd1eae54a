"""Send tensors: their data as bytes, one after another, and for each a description."""

from __future__ import annotations

import math
import re
from hashlib import blake2b

import torch
from torch import Tensor

from grader.wire.frames import MAX_BODY_BYTES, BadFrame, Buffer
from grader.wire.messages import MAX_DIMS, MAX_ELEMENTS, TensorSpec
from grader.wire.originals import (
    STRIDED,
    TENSOR_BASE,
    device_of,
    dtype_of,
    is_on_meta,
    layout_of,
    no_overrides,
    shape_of,
)

MAX_TENSORS = 1024  # of a step; ours send and get 44
_ALIGNMENT = 8  # bytes; the data of each tensor begins at a multiple of this
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.bool,
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    )
}  # fmt: skip
CPU = torch.device("cpu")
_DEVICE = re.compile(r"(cpu|meta|(cuda|mps)(:\d{1,3})?)\Z")


class Unsendable(Exception):
    """A tensor cannot be sent; the text says why."""


def dump_tensors(tensors: list[Tensor], strided: bool = False) -> tuple[list[TensorSpec], bytes]:
    """Return the specs and bytes of tensors; a tensor on ``meta`` has no bytes.

    Args:
        tensors: The tensors to send, of any layout in memory.
        strided: Whether to send strides and ``requires_grad`` too, as a submission's inputs need.
            What comes back from a worker is only data.

    Raises:
        Unsendable: A dtype or layout cannot be sent, or there is more than the other side takes.
    """
    if len(tensors) > MAX_TENSORS:
        raise Unsendable(f"has {len(tensors)} tensors, {MAX_TENSORS} are allowed")
    specs, parts, total = list[TensorSpec](), list[bytes](), 0
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        for tensor in tensors:
            spec = _spec(tensor, strided)
            specs.append(spec)
            if spec.device == "meta":
                continue
            size = math.prod(spec.shape) * tensor.element_size()
            total += _padded(size)
            if total > MAX_BODY_BYTES:
                raise Unsendable(f"is larger than {MAX_BODY_BYTES >> 20} MiB in all")
            parts.append(_bytes_of(plain(tensor)).ljust(_padded(size), b"\0"))
    return specs, b"".join(parts)


def plain(tensor: Tensor) -> Tensor:
    """Return a tensor of torch's own class with the same values, contiguous where it lies.

    If a submission's code must run to get the values, it runs here; to read the result, none runs.
    """
    if type(tensor) is not Tensor:
        tensor = tensor.detach().as_subclass(Tensor)
    return _plain(tensor)


def digest(tensor: Tensor) -> str:
    """Return a digest of a tensor's values, whatever its layout; empty if it has no values.

    Only methods that a submission cannot replace are used.
    """
    if is_on_meta(tensor):
        return ""
    return blake2b(_bytes_of(_plain(tensor)), digest_size=16).hexdigest()


def _plain(tensor: Tensor) -> Tensor:
    with no_overrides():
        here = TENSOR_BASE.detach(tensor)
        if TENSOR_BASE._is_zerotensor(here):  # has no memory, as a gradient that is known to be 0
            here = TENSOR_BASE.clone(here)
        here = TENSOR_BASE.resolve_neg(TENSOR_BASE.resolve_conj(here))
        return TENSOR_BASE.contiguous(here)  # type: ignore[no-any-return]  # of C


def _bytes_of(plain: Tensor) -> bytes:
    """Return the bytes of a tensor that ``plain`` returned."""
    with no_overrides():
        here = TENSOR_BASE.to(plain, "cpu")
        row = TENSOR_BASE.as_strided(here, (TENSOR_BASE.numel(here),), (1,))
        numbers = TENSOR_BASE.numpy(TENSOR_BASE.view(row, torch.uint8))
    return numbers.tobytes()  # type: ignore[no-any-return]  # of C


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _spec(tensor: Tensor, strided: bool) -> TensorSpec:
    name = str(dtype_of(tensor)).removeprefix("torch.")
    if name not in DTYPES:
        raise Unsendable(f"has dtype {name}, which no exercise asks for")
    if layout_of(tensor) is not STRIDED:
        raise Unsendable(f"has layout {layout_of(tensor)}, which no exercise asks for")
    spec = TensorSpec(name, list(shape_of(tensor)), str(device_of(tensor)))
    if strided:
        spec.requires_grad = tensor.requires_grad
        if not tensor.is_contiguous() or tensor.storage_offset():
            spec.stride, spec.offset = list(tensor.stride()), int(tensor.storage_offset())
    return spec


def load_tensors(
    specs: list[TensorSpec],
    body: Buffer | memoryview,
    strided: bool = False,
    home: torch.device = CPU,
) -> list[Tensor]:
    """Build tensors from their bytes; each has a copy of its own, and keeps no other alive.

    Wherever they lay before, all except those on ``meta`` are built on one device. So the trusted
    side, which keeps to the CPU, can use results that a worker has on a GPU without a GPU itself.

    Args:
        specs: The spec of each tensor.
        body: The bytes of all tensors.
        strided: Whether specs may have strides, by which little data can take much memory.
        home: The device to build the tensors on.

    Raises:
        BadFrame: Specs and bytes do not agree, or a spec describes a tensor that cannot be built.
    """
    try:
        if len(specs) > MAX_TENSORS:
            raise BadFrame(f"it has {len(specs)} tensors, {MAX_TENSORS} are allowed")
        data, start = memoryview(body), 0
        tensors = []
        for spec in specs:
            if spec.stride is not None and not strided:
                raise BadFrame("it has strides, which nobody asked for")
            tensor, start = _build(spec, data, start, home)
            tensors.append(tensor)
        if start != len(data):
            raise BadFrame("it has more bytes than its tensors")
        return tensors
    except BadFrame:
        raise
    except Exception as error:  # bytes that were made to break a parser may break it in any way
        raise BadFrame(f"its tensors cannot be read: {str(error)[:200]}") from None


def _build(
    spec: TensorSpec, data: memoryview, start: int, home: torch.device
) -> tuple[Tensor, int]:
    """Build a tensor from the bytes at ``start``; return it and where the next one begins."""
    dtype = DTYPES.get(spec.dtype)
    if (
        dtype is None
        or len(spec.shape) > MAX_DIMS
        or any(not 0 <= size <= MAX_ELEMENTS for size in spec.shape)
        or (count := math.prod(spec.shape)) > MAX_ELEMENTS
        or not _DEVICE.match(spec.device)
    ):
        raise BadFrame(f"it describes no tensor that can be built: {spec}"[:200])
    if spec.device == "meta":
        return torch.empty(spec.shape, dtype=dtype, device="meta"), start
    end = start + _padded(count * dtype.itemsize)
    if end > len(data):
        raise BadFrame("it has fewer bytes than its tensors")
    if count == 0:
        tensor = torch.empty(spec.shape, dtype=dtype)
    else:
        kind = torch.uint8 if dtype is torch.bool else dtype
        held = data[start : start + count * dtype.itemsize]
        there = torch.frombuffer(bytearray(held) if data.readonly else held, dtype=kind)
        # Copied, so that its memory is torch's own: nobody can tell it from any other tensor. Of a
        # truth value, a byte that is neither 0 nor 1 is undefined.
        tensor = there != 0 if dtype is torch.bool else there.clone()
    tensor = tensor.view(spec.shape).to(home)
    if spec.stride is not None:
        tensor = _restride(tensor, spec.stride, spec.offset)
    return tensor.requires_grad_(spec.requires_grad and dtype.is_floating_point), end


def _restride(data: Tensor, stride: list[int], offset: int) -> Tensor:
    """Copy a tensor's values to one with these strides; a stride of 0 repeats one element."""
    base = data
    for dim, step in enumerate(stride):
        if step == 0:
            base = base.narrow(dim, 0, 1)
    reach = sum((size - 1) * step for size, step in zip(base.shape, stride, strict=True)) + 1
    storage = torch.zeros(reach + 2 * offset, dtype=data.dtype, device=data.device)
    strided = storage.as_strided(base.shape, stride, offset)
    return strided.copy_(base).expand(data.shape)
