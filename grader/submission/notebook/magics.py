"""Turn what only IPython understands in a notebook's cell into comments, line by line.

IPython's own transformer does not keep the number of lines, reads a cell anew for each magic, and
exists only where IPython is installed; the tests compare this one with it.
"""

from __future__ import annotations

import re
import textwrap

from grader.submission.source import parse_text

PYTHON_CELLS = {"capture", "grade", "time", "timeit"}  # cell magics whose cell is Python

# Magics that work without a `%`, if the cell holds nothing else and is not Python.
_BARE_MAGIC = re.compile(
    r"\s*(?:autoreload|cat|cd|conda|load_ext|ls|mamba|matplotlib|mkdir|pip|reload_ext|run|uv)\s"
)
_CELL_MAGIC = re.compile(r"(?:[ \t]*\n)*%%(?P<name>\w*)(?P<help>\??)[^\n]*\n?")
_INDENT = re.compile(r"[ \t\f]*")
_ESCAPE = re.compile(r"[ \t\f]*(?=[%!?,;/])")  # no line of Python begins like this
_ASSIGNED = re.compile(r"[ \t]*(?=!|%[A-Za-z_])")  # no Python goes on like this after a `=`
_LINES = re.compile(r"(?:[^\n]*\\\n)*[^\n]*\n?")  # a physical line, and those it is continued on
# A piece that has matched is never tried again, so reading any text takes linear time.
_PIECE = re.compile(
    r"""
    (?P<string> \"{3} (?: \\. | [^\\] )*? (?: \"{3} | \\?\Z )
              | '{3}  (?: \\. | [^\\] )*? (?: '{3}  | \\?\Z )
              | " (?: \\. | [^"\\\n] )* "?
              | ' (?: \\. | [^'\\\n] )* '? )
  | (?P<comment> \#[^\n]* )
  | (?P<space> [ \t\f]+ )
  | (?P<end> \n )
  | (?P<open> [(\[{] )
  | (?P<close> [)\]}] )
  | (?P<operator> [=!<>+\-*/%&|^@:]= | \\\n )
  | (?P<assign> = )
  | (?P<word> [^\s"'\#()\[\]{}=!<>+\-*/%&|^@:\\]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def plain_python(cell: str) -> str:
    """Return a cell's Python, with as many lines as the cell has.

    Line magics, shell lines and calls for help become ``pass``, a value assigned from one becomes
    None. A cell under a cell magic becomes comments, unless the magic runs it as Python.

    Args:
        cell: The cell's text, with lines ended by newlines.
    """
    cell, at = textwrap.dedent(cell), 0
    while magic := _CELL_MAGIC.match(cell, at):
        if magic["name"] not in PYTHON_CELLS and not magic["help"]:
            return _commented(cell)
        at = magic.end()
    return _commented(cell[:at]) + _python_lines(textwrap.dedent(cell[at:]))


def _python_lines(text: str) -> str:
    if _BARE_MAGIC.match(text) and "\n" not in text.strip() and not parses(text):
        return _commented(text)
    pieces, at = [], 0
    while at < len(text):
        end, cut, word = _logical_line(text, at)
        pieces += [text[at:cut], _instead(word, text[cut:end]) if word else ""]
        at = end
    return "".join(pieces)


def _logical_line(text: str, at: int) -> tuple[int, int, str]:
    """Return where a logical line ends, where it stops being Python, and what to write there."""
    if escape := _ESCAPE.match(text, at):
        return _end_of(_LINES, text, at), escape.end(), "pass"
    depth, last = 0, ""
    end = len(text)
    for piece in _PIECE.finditer(text, at):
        kind = piece.lastgroup
        depth = max(depth + (kind == "open") - (kind == "close"), 0)
        if kind == "end" and not depth:
            end = piece.end()
            break
        value = _ASSIGNED.match(text, piece.end()) if kind == "assign" and not depth else None
        if value:
            return _end_of(_LINES, text, value.end()), value.end(), "None"
        if kind not in ("space", "comment", "end"):
            last = piece.group() if kind == "word" else ""
    if last.endswith("?"):
        return end, _end_of(_INDENT, text, at), "pass"
    return end, end, ""


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _instead(word: str, text: str) -> str:
    """Return a word, followed by a comment with the text that the word replaces."""
    first, newline, rest = text.partition("\n")
    return f"{word}  # {first}{newline}{_commented(rest)}"


def _commented(text: str) -> str:
    return re.sub(r"^(?=.*\S)", "# ", text, flags=re.MULTILINE)


def parses(text: str) -> bool:
    """Return whether a text is valid Python."""
    try:
        parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
