"""The tested versions of Python and torch. This module imports neither torch nor click."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

TESTED_PYTHONS = ("3.11", "3.12", "3.13")  # CI runs each of them
TESTED_TORCH_RANGE = ("2.5", "2.15")  # the oldest and the newest


def newer_than_tested(python: str | None = None, torch: str | None = None) -> str:
    """Return a sentence on what is newer than the tested versions; empty where nothing is.

    Args:
        python: A version such as ``3.11.7``; this interpreter's where None.
        torch: A version such as ``2.13.0+cpu``; the installed one's where None.
    """
    python = python or platform.python_version()
    try:
        torch = torch or version("torch")
    except PackageNotFoundError:
        torch = TESTED_TORCH_RANGE[-1]
    newer = [
        f"{name} {found} is newer than {tried[-1]}, the newest that this version was tried with"
        for name, found, tried in (
            ("Python", python, TESTED_PYTHONS),
            ("torch", torch, TESTED_TORCH_RANGE),
        )
        if _numbers(found) > _numbers(tried[-1])
    ]
    return "; ".join(newer)


def _numbers(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()))
