"""Choose torch's kernels: the same on both sides, and none that is known to be wrong."""

from __future__ import annotations

import os

# Limits oneDNN to vector units that all our processors have. With AMX, it reads beyond a row of an
# odd number of bfloat16 features, so that NaN or infinity in one token reaches the token before it.
# From AVX-512 on, it compiles each bfloat16 product for its sizes, which takes ten times as long as
# the product itself where all sizes are drawn anew.
ONEDNN_LIMIT = ("ONEDNN_MAX_CPU_ISA", "AVX2")


def choose_kernels() -> None:
    """Limit oneDNN's kernels; call it before torch's first product, when oneDNN reads the limit."""
    os.putenv(*ONEDNN_LIMIT)  # sets it for libraries only: Python code does not see the variable
