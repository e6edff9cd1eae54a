"""Make the pictures of README and docs: a report, `grade watch`, a batch; each light and dark.

Usage: python -m benchmarks.pictures [FOLDER]    writes them, to docs by default

The pictures show what the commands really print in a terminal, and the system's Chromium displays.
"""

from __future__ import annotations

import io
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyte
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from grader.kit import installed_kit
from grader.practice.folder import make_folder
from tests.support.answers import find
from tests.support.disguises import disguise
from tests.support.takehomes import write_record
from tests.support.terminal import COMMAND, Terminal

EXERCISE = "exercise5"
SEED = 7
MISTAKE = ("sqrt(D)", "sqrt(C)")
SCREENS = {  # arguments of a command, rows of its terminal, text that its last line contains
    "report": ((EXERCISE, "--seed", str(SEED)), 75, "next: "),
    "watch": (("watch", EXERCISE), 32, "q quit"),
}
PART_SELECTORS = {"batch": "#candidates", "alike": "#alike"}  # CSS, in the page of a batch
PICTURE_NAMES = (*SCREENS, *PART_SELECTORS)
# The colours of our pages: background, text, then black, red, green, yellow, blue, magenta, cyan.
THEME_COLOURS = {
    "light": "f7f7f4 1c1e26 1c1e26 b3261e 17703f 7d5700 2c46c2 7b2fb0 0a6560 5a6070",
    "dark": "15181f e9eaf0 262b38 ff9186 5fd192 ebc25f 9db2ff dba6ff 7fd6d0 a9afbd",
}
CANDIDATES = {  # a candidate's answer, and the edit that makes it wrong
    "Ada": ("right_einsum",),
    "Ben": ("right_loop_over_heads", "self.head_dim**0.5", "queries.size(-1) ** 0.5"),
    "Cleo": ("right_transposed_scores", "softmax(dim=-2)", "softmax(dim=-1)"),
    "Dan": (),
    "Eve": ("right_beginner_verbose",),
    "Fay": ("right_beginner_verbose",),
    "Gus": ("right_list_comprehension", " * q.size(-1) ** -0.5", ""),
}
COPIER = "Fay"  # has copied from Eve, with other names and comments, cut otherwise
WINDOW = {"width": 900, "height": 700}
SCREEN_TIMEOUT_S = 300.0
FONT_FACES = re.compile(
    r"@font-face \{.*?\}\s*", re.DOTALL
)  # removed, so that a picture loads nothing
HEX_COLOUR = re.compile(r"[0-9a-f]{6}")
RICH_COLOURS = {"brown": "yellow", "default": None}  # rich's words for pyte's, where they differ


def file_name(picture: str, theme: str) -> str:
    """Return a picture's file name, which names its theme unless that is the light one."""
    ending = "svg" if picture in SCREENS else "png"
    return f"{picture}{'' if theme == 'light' else f'-{theme}'}.{ending}"


def main(folder: str = "docs") -> None:
    """Make all pictures in a folder."""
    exercise = installed_kit().find(EXERCISE)
    wrong = exercise.solution.read_text(encoding="utf-8").replace(*MISTAKE)
    with tempfile.TemporaryDirectory() as home:
        make_folder(Path(home), installed_kit())
        file = Path(home) / "exercises" / exercise.track / f"{EXERCISE}.py"
        file.write_text(wrong, encoding="utf-8")
        for name, (words, rows, last) in SCREENS.items():
            text = _shown(Path(home), words, rows, last)
            for theme in THEME_COLOURS:
                drawn = svg(text, f"grade {words[0]}", theme)
                Path(folder, file_name(name, theme)).write_text(drawn, encoding="utf-8")
        _photograph(_batch(Path(home)), Path(folder))
    for name, theme in itertools.product(PICTURE_NAMES, THEME_COLOURS):
        path = Path(folder, file_name(name, theme))
        print(f"wrote {path}: {path.stat().st_size >> 10} KiB")


def _batch(home: Path) -> Path:
    """Grade a batch in a folder, and return the path of its page."""
    exercise = installed_kit().find(EXERCISE)
    for name, (answer, *edit) in ((n, made) for n, made in CANDIDATES.items() if made):
        source = find(exercise, answer).submission.source
        if edit:
            source = source.replace(*edit)
        if name == COPIER:
            stub = exercise.file.read_text(encoding="utf-8")
            source = disguise(source, stub, 1, "structure", "names")
        _hand_in(home, name, f"{EXERCISE}.py", source)
    for name in (name for name, made in CANDIDATES.items() if not made):
        _hand_in(home, name, "readme.txt", "I ran out of time.\n")
    record = write_record(home / "takehome.toml", EXERCISE, seed=SEED)
    words = ["batch", "submissions", "--takehome", str(record), "--out", "results"]
    done = subprocess.run([sys.executable, *COMMAND, *words], cwd=home, check=False)
    assert done.returncode == 1, "not everybody has handed in something"
    return home / "results" / "report.html"


def _hand_in(home: Path, name: str, file: str, text: str) -> None:
    folder = home / "submissions" / name
    folder.mkdir(parents=True)
    (folder / file).write_text(text, encoding="utf-8")


def _photograph(page: Path, folder: Path) -> None:
    """Open a batch's page in the browser, reveal the names, and take the pictures of its parts."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for theme in THEME_COLOURS:
            tab = browser.new_page(viewport=WINDOW, color_scheme=theme)
            tab.goto(page.as_uri())
            tab.locator("#reveal").click()
            for name, part in PART_SELECTORS.items():
                tab.locator(part).screenshot(path=folder / file_name(name, theme))
        browser.close()


def _shown(home: Path, words: tuple[str, ...], rows: int, last: str) -> Text:
    """Run a command in a terminal, and return its screen once the last line is there."""
    with Terminal(home, *words, rows=rows, TERM="xterm-256color", NO_COLOR="") as terminal:
        terminal.until("score", last, seconds=SCREEN_TIMEOUT_S)
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
    colour = RICH_COLOURS.get(cell.fg, cell.fg)
    if colour and HEX_COLOUR.fullmatch(colour):
        colour = f"#{colour}"
    return Style(color=colour, bold=cell.bold, reverse=cell.reverse)


def svg(text: Text, title: str, theme: str) -> str:
    """Draw text as an SVG of a terminal that loads no fonts."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(text)
    background, ink, *colours = (
        (number >> 16, number >> 8 & 255, number & 255)
        for number in (int(colour, 16) for colour in THEME_COLOURS[theme].split())
    )
    name = f"{title}-{theme}".replace(" ", "-")
    look = TerminalTheme(background, ink, colours)
    return FONT_FACES.sub("", console.export_svg(title=title, theme=look, unique_id=name))


if __name__ == "__main__":
    main(*sys.argv[1:])
