"""The width of texts in a terminal, where some characters take two columns."""

from __future__ import annotations

from unicodedata import east_asian_width


def pad_to_width(text: str, width: int, right: bool = False) -> str:
    """Pad a text with spaces to a width in columns, aligned left or right; a wider one stays."""
    space = " " * (width - display_width(text))
    return space + text if right else text + space


def display_width(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)
