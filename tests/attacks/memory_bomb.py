# attack: 8 GiB of addresses and 1 GiB of memory, in Python, torch and C
import ctypes
import mmap

import torch


def double(x):
    kept = []
    for take in (
        lambda: bytearray(1 << 30),
        lambda: torch.empty(2 << 30, dtype=torch.int32),
        lambda: mmap.mmap(-1, 8 << 30),
        lambda: mmap.mmap(-1, 8 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS),
        lambda: [[0] * 10**6 for _ in range(120)],
    ):
        try:
            kept.append(take())
        except (MemoryError, RuntimeError, OSError) as error:
            print(str(error)[:50])
    ctypes.CDLL(None).malloc(ctypes.c_size_t(8 << 30))
    return 3 * x
