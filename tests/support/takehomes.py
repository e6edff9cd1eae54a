"""Records of take-homes that were never packed, for batches with rules of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader import __version__
from grader.hiring.takehome import Takehome, TakehomeItem
from grader.kit import Kit, installed_kit


def record_of(*names: str, kit: Kit | None = None, **fields: Any) -> Takehome:
    """Return the record of a take-home with these exercises.

    Args:
        names: The names of the exercises.
        kit: The kit that has them; None for the installed one.
        fields: Further fields of the record, in place of those that tests mostly want.
    """
    kit = kit or installed_kit()
    usual: dict[str, Any] = {
        "title": ", ".join(names),
        "minutes": 90,
        "kit": kit.name,
        "kit_version": __version__,
        "grader": __version__,
        "archive": "takehome.zip",
        "sha256": "",
        "sent": tuple(TakehomeItem(name, kit.find(name).digest) for name in names),
        "seed": 5,
    }
    return Takehome(**{**usual, **fields})


def write_record(path: Path, *names: str, **fields: Any) -> Path:
    """Write the record of a take-home as ``record_of`` makes it, and return its path."""
    path.write_text(record_of(*names, **fields).to_toml(), encoding="utf-8")
    return path
