"""A line on a terminal that has a submission's text."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

INDENT = 16
TAB = 8
WIDEST = 2  # columns of one letter
HALVES_OF_FLAGS = ("\U0001f1e6", "\U0001f1ff")  # the first and the last: each may stand alone


class HangingLine:
    """A line that has a submission's text; those that it is wrapped to begin with a bar.

    Without the bar, a submission's text could look like the grader's next line. No terminal wraps
    it elsewhere: where terminals differ in how wide they show a letter, all count as wide.

    Args:
        text: The line.
        style: Its style.
        indent: Where it begins; by default at the margin, where editors look for places.
    """

    def __init__(self, text: str, style: str = "", indent: int = 0) -> None:
        self._text = Text(text, style)
        self._text.expand_tabs(TAB)
        self._indent = " " * indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the line, wrapped where it is too long."""
        begin = " " * INDENT + "| "
        most = max(options.max_width - len(begin), WIDEST)
        is_known = _has_known_width(self._text.plain)
        width = self._text.cell_len if is_known else WIDEST * len(self._text)
        if width + len(self._indent) <= options.max_width:
            lines = [self._text]
        elif is_known:
            lines = [*self._text.wrap(console, most)]
        else:
            step = most // WIDEST
            lines = [self._text[at : at + step] for at in range(0, len(self._text), step)]
        yield Text.assemble(self._indent, lines[0])
        for line in lines[1:]:
            yield Text.assemble(begin, line)


def _has_known_width(text: str) -> bool:
    """Return whether every terminal shows a text as wide as it is counted."""
    return text.isascii() or all(map(_is_known, text))


def _is_known(letter: str) -> bool:
    """Return whether a letter is neither a mark, part of a sign, nor nobody's yet."""
    first, last = HALVES_OF_FLAGS
    is_nobodys = unicodedata.category(letter) in ("Cn", "Co")
    return cell_len(letter) == WIDEST or (
        cell_len(letter) == 1 and not is_nobodys and not first <= letter <= last
    )
