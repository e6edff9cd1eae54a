"""``grade watch``: grade each file as it is saved."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import click

from grader.cli.names import ExerciseName, kit_in_use, kit_option
from grader.cli.options import (
    device_option,
    isolation_option,
    make_console,
    no_color_option,
    wants_cuda,
    warn_of_untried_versions,
)
from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.practice.agenda import choose_next_exercise
from grader.practice.history import open_history
from grader.sandbox.process import Sandbox

if TYPE_CHECKING:
    from rich.console import Console

    from grader.grading import Options
    from grader.outputs.screen import Screen

MAX_MISTAKE_SETS = 6_000  # tried per grading; the verdict waits for it, a third of a second


@click.command()
@click.argument("name", metavar="[EXERCISE]", required=False, type=ExerciseName())
@device_option
@isolation_option
@kit_option
@no_color_option
def watch(
    name: str | None, device: str, isolation: str, kit_path: Path | None, no_color: bool
) -> None:
    """Grade whatever you save, and go on to the next exercise when one is solved.

    Begins with the exercise that you name, or with the one that `grade next` suggests. Keys show
    the next exercise, hints, attention maps and our solution; `?` lists them. If the output goes
    to a file or a pipe, each report is printed, until Ctrl-C.

    \b
    Example: grade watch exercise3
    """
    kit = kit_in_use(kit_path, keeps_history=True)
    if not kit.own_stubs:
        raise GradeError("there is no folder of stubs here to watch; `grade init drills` makes one")
    if not sys.stdin.isatty():
        raise GradeError(
            "standard input is not a terminal, so no key could reach `grade watch`; "
            "`grade EXERCISE` grades once"
        )
    exercise = kit.find(name) if name else _first_exercise(kit)
    warn_of_untried_versions()
    start = partial(Sandbox, isolation, on_gpu=wants_cuda(device))
    _loop(kit, exercise, start, device, make_console(no_color))


def _first_exercise(kit: Kit) -> Exercise:
    from grader.practice.schedule import standings

    now = datetime.now(UTC)
    with open_history(kit, to_write=False) as history:
        turn = choose_next_exercise(kit, standings(kit, history, now), now)
    return turn.exercise if turn else kit.exercises[0]


def _loop(
    kit: Kit, exercise: Exercise, start: partial[Sandbox], device: str, console: Console
) -> None:
    from grader.practice.background_grader import BackgroundGrader
    from grader.practice.events import (
        FileSaved,
        GradingEnded,
        GradingUnderWay,
        KeyPressed,
        Redraw,
        WatchEvent,
    )
    from grader.practice.file_watcher import watch_files
    from grader.practice.keyboard import watch_keys
    from grader.practice.watch import Watch

    keyed = console.is_terminal
    events: SimpleQueue[WatchEvent] = SimpleQueue()

    def options() -> Options:
        from grader.grading import Options

        return Options(
            device=device,
            max_mistake_sets=MAX_MISTAKE_SETS,
            progress=lambda progress: events.put(GradingUnderWay(progress)),
        )

    with ExitStack() as stack:
        grader = stack.enter_context(
            BackgroundGrader(start, options, lambda *graded: events.put(GradingEnded(*graded)))
        )
        stack.enter_context(watch_files(kit, lambda path: events.put(FileSaved(path))))
        if keyed:
            stack.enter_context(
                watch_keys(
                    lambda key: events.put(KeyPressed(key)),
                    lambda: events.put(Redraw()),
                )
            )
        show = _ScreenPrinter(console, keyed)
        Watch(kit, exercise, events, show, keyed).run(grader)


class _ScreenPrinter:
    """A callable that shows screens: in place of one another, or one below the other in a pipe."""

    def __init__(self, console: Console, keyed: bool) -> None:
        self._console = console
        self._keyed = keyed
        self._last = ""

    def __call__(self, screen: Screen) -> None:
        from grader.outputs.screen import render_screen

        if self._keyed:
            width, height = os.get_terminal_size()
            self._console.size = (width, height)
        text = render_screen(screen, self._console, self._keyed)
        if text == self._last and not self._keyed:
            return
        self._last = text
        clear = "\x1b[H\x1b[2J" if self._keyed and os.environ.get("TERM") != "dumb" else ""
        click.echo(f"{clear}{text}", color=True)
