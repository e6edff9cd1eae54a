"""Texts in columns of a terminal, where some signs are two columns wide."""

from __future__ import annotations

from unicodedata import east_asian_width


def as_wide(text: str, width: int, right: bool = False) -> str:
    """A text with spaces around it, as many columns wide as that if it is not wider."""
    space = " " * (width - columns(text))
    return space + text if right else text + space


def columns(text: str) -> int:
    """How many columns a text takes."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)
