"""What falls short in a kit, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

MAX_SHOWN_CHARS = 60  # of a sentence or a line that a finding quotes


class Finding(NamedTuple):
    """One thing in which an exercise falls short.

    Attributes:
        file: The file in which to mend it.
        line: The line in that file; 0 for the file as a whole.
        text: What is wrong, and the next step.
    """

    file: Path
    line: int
    text: str


def line_of(file: Path, text: str) -> int:
    """Return the number of a file's first line that holds a text; 0 where none does."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return next((number for number, line in enumerate(lines, 1) if text in line), 0)


def line_of_words(file: Path, text: str) -> int:
    """Return the number of the line on which words begin that a file may wrap; 0 where none do."""
    words = r"[\s#]+".join(map(re.escape, text.split()))
    source = file.read_text(encoding="utf-8")
    found = re.search(words, source)
    return source.count("\n", 0, found.start()) + 1 if found else 0


def shortened(text: str) -> str:
    """Return a text in backticks, cut after ``MAX_SHOWN_CHARS`` characters."""
    return f"`{text if len(text) <= MAX_SHOWN_CHARS else f'{text[:MAX_SHOWN_CHARS]}…'}`"
