"""Text that came from a submission, made safe to show."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|.?)",
    re.DOTALL,
)
# Control characters but tab and newline, and the marks that reorder or hide what is shown.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def clean(text: str) -> str:
    """The text without terminal escapes and control characters."""
    if text.isprintable():  # most is, and thousands of pieces make a page
        return text
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
