"""Of many alike, some are tried each time, and the others by ``pytest -m exhaustive``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest


def some_of(cases: Sequence[tuple[str, tuple[Any, ...]]], most: int) -> Iterator[Any]:
    """Parameters of a test, so many of them without the mark ``exhaustive``, evenly spread.

    Args:
        cases: The id of each, and its arguments.
        most: How many are tried each time.
    """
    for place, (name, arguments) in enumerate(cases):
        is_tried = place * most % len(cases) < most
        marks = () if is_tried else (pytest.mark.exhaustive,)
        yield pytest.param(*arguments, id=name, marks=marks)
