"""Reads the files in TOML that an author of a kit writes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.errors import GradeError

_T = TypeVar("_T")


def read_toml(path: Path, kind: type[_T]) -> _T:
    """Return what a file holds, as a type.

    Raises:
        GradeError: The file cannot be read, or does not hold that.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), kind)
    except (OSError, ValueError, RecursionError) as error:  # in TOML, UTF-8 or a type
        raise GradeError(f"`{path}` is damaged: {error}") from None
