"""Which kernels torch computes with: on both sides the same, and none that is known to be wrong."""

from __future__ import annotations

import os

# With AMX, oneDNN reads beyond a row of an odd number of bfloat16 features, so that NaN or infinity
# of one token reaches the token before it. Without it, a right answer keeps them apart.
WITHOUT_AMX = ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


def choose_kernels() -> None:
    """Before torch multiplies anything in this process: oneDNN looks once, at its first use."""
    os.putenv(*WITHOUT_AMX)  # for libraries alone: Python code sees no such variable
