"""Imports, which both sides wait for as they begin."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage in this context, and never what was made in it: nothing imported is any.

    To look through all that torch makes as it is imported takes a tenth of a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
