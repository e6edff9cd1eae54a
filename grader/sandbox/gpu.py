"""Asks the CUDA driver which GPU CUDA takes first. Does not import torch.

Source: the CUDA Driver API, https://docs.nvidia.com/cuda/cuda-driver-api; the driver's README,
chapter "The /proc File System Interface"
"""

from __future__ import annotations

import ctypes
import functools
import re
import uuid
from pathlib import Path
from typing import Any, NamedTuple

DEVICES = ("auto", "cpu", "cuda", "mps")  # that one may ask for; auto is a GPU if there is one
CONTROL_DEVICE = Path("/dev/nvidiactl")  # the driver's own; without it no worker can use CUDA
PROC_GPUS = Path("/proc/driver/nvidia/gpus")  # a folder for each GPU, named by its PCI address


class Gpu(NamedTuple):
    """A GPU.

    Attributes:
        name: The GPU's UUID, as ``CUDA_VISIBLE_DEVICES`` takes it.
        memory: The GPU's memory, in MiB.
        device: The GPU's device file; empty where the system does not tell.
    """

    name: str
    memory: int
    device: str


class _NoAnswer(Exception):
    """The CUDA driver has refused a call."""


@functools.cache
def first_gpu() -> Gpu | None:
    """Return the GPU that CUDA takes first in this process; None where there is none.

    No context is created on the GPU, and nothing is allocated.
    """
    if not CONTROL_DEVICE.exists():
        return None
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        return _ask(driver)
    except (OSError, AttributeError, _NoAnswer):
        return None


def _ask(driver: Any) -> Gpu:
    def call(name: str, *arguments: Any) -> None:
        if getattr(driver, name)(*arguments):
            raise _NoAnswer(name)

    device, memory = ctypes.c_int(), ctypes.c_size_t()
    name, place = (ctypes.c_ubyte * 16)(), ctypes.create_string_buffer(32)
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    call("cuDeviceGetUuid", name, device)
    call("cuDeviceGetPCIBusId", place, len(place), device)
    minor = _minor(place.value.decode("ascii").lower())
    return Gpu(
        name=f"GPU-{uuid.UUID(bytes=bytes(name))}",
        memory=memory.value >> 20,
        device="" if minor is None else f"/dev/nvidia{minor}",
    )


def _minor(place: str) -> int | None:
    """Return the number of a GPU's device file, by its PCI address such as ``0000:3b:00.0``."""
    try:
        text = (PROC_GPUS / place / "information").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^Device Minor:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else None
