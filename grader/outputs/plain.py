"""What is made for a terminal, as plain text."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

WIDTH = 100  # in characters


def plain(parts: Iterable[RenderableType]) -> str:
    """The parts as lines without colours, of which none is longer than a page is wide."""
    file = io.StringIO()
    console = Console(
        file=file, width=WIDTH, color_system=None, highlight=False, force_jupyter=False
    )
    for part in parts:
        console.print(part)
    return file.getvalue().rstrip("\n")
