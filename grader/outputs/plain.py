"""Output for a terminal as plain text."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

WIDTH = 100  # characters in a line


def plain_text(parts: Iterable[RenderableType]) -> str:
    """Return the parts as lines without colours, none of them longer than ``WIDTH``."""
    file = io.StringIO()
    console = Console(
        file=file, width=WIDTH, color_system=None, highlight=False, force_jupyter=False
    )
    for part in parts:
        console.print(part)
    return file.getvalue().rstrip("\n")
