"""The commands that look back: progress, diff."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from grader.cli.names import exercise_argument, kit_option
from grader.errors import GradeError
from grader.kit import load_kit
from grader.practice.history import Grading, open_history

BARS = "▁▂▃▄▅▆▇█"
SHOWN = 24  # gradings in a plot


@click.command()
@kit_option
def progress(kit_path: Path | None) -> None:
    """Show how far you are: tries, best scores and how they grew.

    \b
    Example: grade progress
    """
    kit = load_kit(kit_path)
    with open_history(kit, to_write=False) as history:
        found = history.gradings()
        solved = history.solved()
    if not found:
        click.echo("nothing graded yet; next: `grade list`")
        return
    click.echo(f"{len(solved)} of {len(kit.exercises)} exercises solved, {len(found)} gradings")
    click.echo(f"\n{'exercise':<11} {'tries':>5} {'best':>9}  {'last':<10} {'hints':>5}  scores")
    for exercise in kit.exercises:
        tries = [grading for grading in found if grading.exercise == exercise.name]
        if tries:
            click.echo(_line(tries))


def _line(tries: list[Grading]) -> str:
    best = max(tries, key=lambda one: one.earned / max(one.possible, 1))
    score = f"{best.earned} / {best.possible}"
    last = tries[-1]
    plot = "".join(_bar(one) for one in tries[-SHOWN:])
    return (
        f"{last.exercise:<11} {len(tries):>5} {score:>9}  {last.started[:10]:<10} "
        f"{last.hints:>5}  {plot}"
    )


def _bar(grading: Grading) -> str:
    share = grading.earned / max(grading.possible, 1)
    return BARS[round(share * (len(BARS) - 1))]


@click.command()
@exercise_argument
@kit_option
def diff(name: str, kit_path: Path | None) -> None:
    """Show what you changed since the last grading of your file.

    \b
    Example: grade diff exercise3
    """
    kit = load_kit(kit_path)
    exercise = kit.find(name)
    with open_history(kit, to_write=False) as history:
        graded = history.gradings(name)
    if not graded:
        raise GradeError(f"`{name}` has not been graded yet; `grade {name}` does so")
    try:
        now = exercise.file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise GradeError(f"`{exercise.file}` cannot be read: {error}") from None
    last = graded[-1]
    lines = difflib.unified_diff(
        last.source.splitlines(),
        now.splitlines(),
        f"{exercise.file.name}, graded {last.started}: {last.earned} / {last.possible}",
        f"{exercise.file.name}, now",
        lineterm="",
    )
    text = "\n".join(lines)
    click.echo(text or f"`{exercise.file}` is as it was graded: {last.earned} / {last.possible}")
