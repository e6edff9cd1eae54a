"""Text that came from a submission, made safe to show."""

from __future__ import annotations

import json
import re
import unicodedata

from grader.wire.plain import with_newlines

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|.?)",
    re.DOTALL,
)
# Invisible characters, and those that reorder visible ones: Unicode's category Cf (whose tags can
# spell whole sentences), line separators, variation selectors, and letters that are blank.
_HIDDEN = (
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U00016fe4\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_HIDDEN}]")  # and controls except tab, newline


def clean(text: str) -> str:
    """Return text without terminal escapes, control characters and invisible characters."""
    if not (text.isascii() and text.isprintable()):  # most text is; a page has thousands of pieces
        text = _UNSEEN.sub("", _ESCAPES.sub("", with_newlines(text)))
    return _without_commands(text)


def show_invisible(name: str) -> str:
    """Show a name's invisible characters by number, so that two different names look different."""
    return _without_commands(re.sub(r"[\t\n]", _number, _UNSEEN.sub(_number, name)))


def show_quoted(name: str) -> str:
    """Show a name that stands between backticks in a sentence: its own ones by number as well."""
    return show_invisible(name).replace("`", "<U+0060>")


def escape_invisible(text: str) -> str:
    """Return the same JSON with invisible characters by number, as in ``\\u202e``."""
    return _UNSEEN.sub(_escaped, text)


def composed(name: str) -> str:
    """Return a name with each accented letter as one letter (NFC), as macOS does not write it."""
    return unicodedata.normalize("NFC", name)


def looks(name: str) -> str:
    """Return what a name looks like: accents as letters of their own or not, one blank or two."""
    return " ".join(composed(name).split())


def show_spelling(name: str) -> str:
    """Show a name's blanks and letters beyond ASCII by number, so that no two look the same."""
    return re.sub(r"[^\x21-\x7e]", _number, name)


def _without_commands(text: str) -> str:
    """Break by a blank what begins a command to GitHub Actions anywhere in a line of its logs."""
    return text.replace("##[", "## [")


def _escaped(letter: re.Match[str]) -> str:
    return json.dumps(letter[0])[1:-1]


def _number(letter: re.Match[str]) -> str:
    return f"<U+{ord(letter[0]):04X}>"
