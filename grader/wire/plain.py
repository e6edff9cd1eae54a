"""Make text that a submission chose safe to show among the grader's own words."""

from __future__ import annotations


def one_line(name: str, most: int) -> str:
    """Return at most ``most`` characters of a name, with `�` for each unprintable one."""
    return "".join(letter if letter.isprintable() else "�" for letter in name[:most])


def with_newlines(text: str) -> str:
    """Return text whose lines end with a newline alone, whatever they ended with."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
