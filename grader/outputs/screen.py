"""The screen that ``grade watch`` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from grader.languages import say
from grader.outputs.hanging_line import HangingLine
from grader.outputs.sanitise import clean
from grader.outputs.terminal import Renderable, render_maps, render_report
from grader.records import Report

KEYS = {
    "n": "next",
    "p": "previous",
    "h": "hint",
    "l": "list",
    "m": "map",
    "e": "explain",
    "v": "checks",
    "r": "reset",
    "s": "solution",
    "?": "help",
    "q": "quit",
}
KEYS_PAGE = """\
n, →         the next exercise
p, ←         the previous one
Enter        goes on, once this one is solved
h            one more hint
l            the list: ↑ and ↓ choose an exercise, Enter turns to it
m            attention maps, on and off
v            every check that failed, and whole lists; again, fewer
e            how much is told of a mistake: nothing, a question, its place, the cause
s            our solution, once yours is solved
r r          puts the stub back; yours is kept
↑ ↓, k j     a line up, a line down
b, space     a page up, a page down
?            these keys; again, the report
q            quit"""
PROGRESS_BAR_COLUMNS = 24


@dataclass
class Screen:
    """The contents of the screen.

    Attributes:
        title: The kit's title.
        solved: How many exercises are solved.
        total: How many exercises there are.
        name: The exercise that the learner works on.
        about: The exercise's title.
        file: The file in which the learner writes it.
        news: One line about what has just happened.
        under_way: How far a grading is that is under way; empty if none is, or for a moment.
        so_far: What it has found wrong so far, in one line.
        report: The last report of this exercise.
        maps: Whether to show attention maps.
        verbose: Whether to show every check that failed.
        hints: The hints shown so far.
        page: Text to show instead of the report, such as a list or a solution.
        focus: The line of the page that has to be in sight, from 0; -1 where any may be.
        scroll: The first line in sight, below the title; rendering moves it into range.
        visible_lines: How many lines were in sight when the screen was last rendered.
    """

    title: str
    solved: int
    total: int
    name: str
    about: str
    file: str
    news: str = ""
    under_way: str = ""
    so_far: str = ""
    report: Report | None = None
    maps: bool = False
    verbose: bool = False
    hints: Sequence[str] = ()
    page: str = ""
    focus: int = -1
    scroll: int = 0
    visible_lines: int = 0


def render_screen(screen: Screen, console: Console, keyed: bool) -> str:
    """Return a screen as text for a terminal; where keys are shown, it is cut to the height.

    Args:
        screen: The contents, whose ``scroll`` and ``visible_lines`` are updated.
        console: The terminal, with its size and colours.
        keyed: Whether to show the keys, and cut the text so that they fit.
    """
    top = _lines(console, _top(screen))
    body = _lines(console, _body(screen))
    if not keyed:
        return "\n".join(top + body)
    foot = _lines(console, _foot())
    return "\n".join([*top, *_in_sight(screen, body, console.height - len(top) - len(foot)), *foot])


def _in_sight(screen: Screen, body: list[str], height: int) -> list[str]:
    """Return the lines of the body that fit; a last line says how many are out of sight."""
    screen.visible_lines = visible_lines = max(height - 2, 3)
    if len(body) <= visible_lines + 1:
        screen.scroll = 0
        return body
    if screen.focus >= 0:
        screen.scroll = max(min(screen.scroll, screen.focus), screen.focus - visible_lines + 1)
    screen.scroll = first = min(max(screen.scroll, 0), len(body) - visible_lines)
    below = len(body) - first - visible_lines
    words = [say(f"{below} more lines: ↓ or space")] if below else []
    words += [say(f"{first} above: ↑ or b")] if first else []
    return [*body[first : first + visible_lines], f"  … {'; '.join(words)}"]


def _lines(console: Console, parts: Iterator[Renderable]) -> list[str]:
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get().splitlines()


def _top(screen: Screen) -> Iterator[Renderable]:
    filled = round(PROGRESS_BAR_COLUMNS * screen.solved / max(screen.total, 1))
    bar = ("█" * filled, "green"), ("░" * (PROGRESS_BAR_COLUMNS - filled), "dim")
    yield Text.assemble(
        (screen.title, "bold"), "  ", *bar, say(f"  {screen.solved} of {screen.total} solved")
    )
    if screen.news:
        yield Text(say(clean(screen.news)), style="bold")
    yield Text()


def _body(screen: Screen) -> Iterator[Renderable]:
    if screen.page:
        yield Text(screen.page)
        return
    yield Text.assemble((screen.name, "bold"), f": {say(screen.about)}")
    for number, hint in enumerate(screen.hints, start=1):
        yield _hint(number, hint)
    if screen.under_way:
        how_to_stop = say("(another save stops it, and so do n and p)")
        yield Text(f"  {screen.under_way} … {how_to_stop}")
        if screen.so_far:
            yield HangingLine(f"{say('wrong so far')}: {clean(screen.so_far)}", indent=2)
    elif screen.report is None:
        yield Text(say(f"  edit {clean(screen.file)} and save it: it is graded at once"))
    else:
        report, verbose = screen.report, screen.verbose
        if screen.maps:  # at the learner's wish, so above what may be cut
            yield from render_maps(report.maps)
            report = replace(report, maps=())
        yield from render_report(report, verbose, brief=True, more="v")


def _hint(number: int, hint: str) -> Padding:
    text = Text(f"{say('hint')} {number}: {say(hint)}", style="cyan")
    return Padding(text, (0, 0, 0, 2), expand=False)


def _foot() -> Iterator[Renderable]:
    yield Text()
    words: list[str | tuple[str, str]] = []
    for key, what in KEYS.items():
        words += [(key, "bold"), f" {say(what)}   "]
    yield Text.assemble(*words)
