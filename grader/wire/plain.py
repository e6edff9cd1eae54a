"""Names that a submission chooses, as they may stand among the grader's own words."""

from __future__ import annotations


def one_line(name: str, most: int) -> str:
    """So many letters of a name, on one line; what cannot be seen there is `�`."""
    return "".join(letter if letter.isprintable() else "�" for letter in name[:most])
