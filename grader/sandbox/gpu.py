"""The GPU that CUDA takes first, asked of its driver. No torch here.

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

CONTROL = Path("/dev/nvidiactl")  # of the driver; where there is none, no worker can be given it
KNOWN = Path("/proc/driver/nvidia/gpus")  # a folder for each, by its place on the bus


class Gpu(NamedTuple):
    """A GPU.

    Attributes:
        name: As ``CUDA_VISIBLE_DEVICES`` takes it.
        memory: In MiB.
        device: Its device file; empty where the system does not tell.
    """

    name: str
    memory: int
    device: str


class _NoAnswer(Exception):
    """The driver has refused a call."""


@functools.cache
def first_gpu() -> Gpu | None:
    """The GPU that CUDA takes first in this process; None where there is none.

    Nothing is begun on it: neither a context nor an allocation.
    """
    if not CONTROL.exists():
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
    """The number of a GPU's device file, by its place on the bus such as ``0000:3b:00.0``."""
    try:
        text = (KNOWN / place / "information").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^Device Minor:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else None
