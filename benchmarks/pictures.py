"""The pictures of the README: what `grade exercise5` and `grade watch` show in a real terminal.

Usage: python -m benchmarks.pictures [FOLDER]    writes report.svg and watch.svg, to docs by default
"""

from __future__ import annotations

import io
import itertools
import re
import sys
import tempfile
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

from grader.kit import installed_kit
from grader.practice.folder import make_folder
from tests.grader.terminal import Terminal

EXERCISE = "exercise5"
MISTAKE = ("sqrt(D)", "sqrt(C)")
PATIENCE = 300.0  # seconds
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture loads nothing
HEXADECIMAL = re.compile(r"[0-9a-f]{6}")
COLOURS = {"brown": "yellow", "default": None}  # pyte's words that are not rich's


def main(folder: str = "docs") -> None:
    """Make both."""
    exercise = installed_kit().find(EXERCISE)
    wrong = exercise.solution.read_text(encoding="utf-8").replace(*MISTAKE)
    with tempfile.TemporaryDirectory() as home:
        make_folder(Path(home), installed_kit())
        file = Path(home) / "exercises" / exercise.track / f"{EXERCISE}.py"
        file.write_text(wrong, encoding="utf-8")
        for name, words, rows, last in (
            ("report", (EXERCISE, "--seed", "7"), 75, "next: "),
            ("watch", ("watch", EXERCISE), 32, "q quit"),
        ):
            text = _shown(Path(home), words, rows, last)
            path = Path(folder) / f"{name}.svg"
            path.write_text(_svg(text, f"grade {words[0]}"), encoding="utf-8")
            print(f"wrote {path}: {path.stat().st_size >> 10} KiB")


def _shown(home: Path, words: tuple[str, ...], rows: int, last: str) -> Text:
    """What is on the screen once the last of it is there."""
    with Terminal(home, *words, rows=rows, TERM="xterm-256color", NO_COLOR="") as terminal:
        terminal.until("score", last, seconds=PATIENCE)
        lines = [_line(terminal.screen, row) for row in range(rows)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return Text("\n").join(lines)


def _line(screen: pyte.Screen, row: int) -> Text:
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    line = Text()
    for style, run in itertools.groupby(cells, _style):
        line.append("".join(cell.data for cell in run), style)
    line.rstrip()
    return line


def _style(cell: pyte.screens.Char) -> Style:
    colour = COLOURS.get(cell.fg, cell.fg)
    if colour and HEXADECIMAL.fullmatch(colour):
        colour = f"#{colour}"
    return Style(color=colour, bold=cell.bold, reverse=cell.reverse)


def _svg(text: Text, title: str) -> str:
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(text)
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id=title.replace(" ", "-"))
    return FONTS.sub("", svg)


if __name__ == "__main__":
    main(*sys.argv[1:])
