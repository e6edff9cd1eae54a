"""Which kernels torch computes with: on both sides the same, and none that is known to be wrong."""

from __future__ import annotations

import os

# Of the vector units that all our processors have. With AMX, oneDNN reads beyond a row of an odd
# number of bfloat16 features, so that NaN or infinity of one token reaches the token before it. And
# from AVX-512 on it compiles each product in bfloat16 for its sizes: ten times as long as
# multiplying, where all sizes are drawn anew.
VECTORS = ("ONEDNN_MAX_CPU_ISA", "AVX2")


def choose_kernels() -> None:
    """Before torch multiplies anything in this process: oneDNN looks once, at its first use."""
    os.putenv(*VECTORS)  # for libraries alone: Python code sees no such variable
