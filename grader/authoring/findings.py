"""What falls short in a kit, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from grader.errors import GradeError

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


def text_of(file: Path) -> str:
    """Return a file's text; none without a file.

    Raises:
        GradeError: The file cannot be read, or is not in UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8") if file.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise GradeError(f"`{file}` cannot be read: {error}; save it as UTF-8") from None


def line_of(file: Path, text: str) -> int:
    """Return the number of a file's first line that holds a text; 0 where none does."""
    lines = enumerate(text_of(file).splitlines(), 1)
    return next((number for number, line in lines if text in line), 0)


def line_of_words(file: Path, text: str) -> int:
    """Return the number of the line on which words begin that a file may wrap; 0 where none do."""
    words = r"[\s#]+".join(map(re.escape, text.split()))
    source = file.read_text(encoding="utf-8")
    found = re.search(words, source)
    return source.count("\n", 0, found.start()) + 1 if found else 0


def shortened(text: str) -> str:
    """Return a text in backticks, cut after ``MAX_SHOWN_CHARS`` characters."""
    return f"`{text if len(text) <= MAX_SHOWN_CHARS else f'{text[:MAX_SHOWN_CHARS]}…'}`"
