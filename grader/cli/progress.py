"""The commands that show past gradings: progress, diff."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.cli.names import exercise_argument, kit_in_use, kit_option
from grader.cli.options import html_option, write_text
from grader.cli.saying import echo
from grader.errors import GradeError
from grader.kit import Kit
from grader.languages import say
from grader.languages.columns import pad_to_width
from grader.outputs.sanitise import clean, show_quoted
from grader.practice.history import History, open_history
from grader.records import Grading
from grader.submission import MAX_SOURCE_BYTES, read_bounded

BARS = "▁▂▃▄▅▆▇█"
MAX_PLOTTED_GRADINGS = 24  # of one exercise
MAX_LISTED_MISTAKES = 5
MAX_DIFF_LINES = 2_000  # of a file; thousands that are alike take minutes to compare


@click.command()
@html_option("Also write it as a page: one HTML file.")
@kit_option
def progress(html_file: Path | None, kit_path: Path | None) -> None:
    """Show how far you are: tries, best scores, how they grew, mistakes met.

    \b
    Example: grade progress --html progress.html
    """
    kit = kit_in_use(kit_path, in_interview=True)
    with open_history(kit, to_write=False) as history:
        found = history.gradings()
        solved = history.solved()
        if html_file is not None:
            write_text(html_file, _page(kit, history))
    if not found:
        echo("nothing graded yet; next: `grade next`")
        return
    gradings = "1 grading" if len(found) == 1 else f"{len(found)} gradings"
    echo(f"{len(solved)} of {len(kit.exercises)} exercises solved, {gradings}")
    click.echo(f"\n{_headings()}")
    for exercise in kit.exercises:
        tries = [grading for grading in found if grading.exercise == exercise.name]
        if tries:
            echo(_line(tries))
    _tell_of_mistakes(found)


def _headings() -> str:
    columns = (("exercise", 11), ("tries", -5), ("best", -9), ("last", 10), ("hints", -5))
    told = [pad_to_width(say(name), abs(wide), right=wide < 0) for name, wide in columns]
    return f"{' '.join(told[:3])}  {' '.join(told[3:])}  {say('scores')}"


def _tell_of_mistakes(gradings: list[Grading]) -> None:
    from grader.outputs.progress_page import mistakes_met

    if met := mistakes_met(gradings)[:MAX_LISTED_MISTAKES]:
        echo("\nmistakes met most often")
        for one in met:
            echo(f"{one.times:>5} ×  `grade mistakes {show_quoted(one.name)}`")


def _page(kit: Kit, history: History) -> str:
    from grader.outputs.progress_page import progress_page
    from grader.practice.schedule import standings

    known = standings(kit, history, datetime.now(UTC))
    due = {name: one.due for name, one in known.items() if one.due is not None}
    titles = [(exercise.name, exercise.title) for exercise in kit.exercises]
    return progress_page(kit.title, titles, history.gradings(), history.solved(), due)


def _line(tries: list[Grading]) -> str:
    best = max(tries, key=lambda one: one.share)
    score = f"{best.earned} / {best.possible}"
    last = tries[-1]
    plot = "".join(_bar(one) for one in tries[-MAX_PLOTTED_GRADINGS:])
    return (
        f"{last.exercise:<11} {len(tries):>5} {score:>9}  {last.started[:10]:<10} "
        f"{last.hints:>5}  {plot}"
    )


def _bar(grading: Grading) -> str:
    return BARS[round(grading.share * (len(BARS) - 1))]


@click.command()
@exercise_argument
@kit_option
def diff(name: str, kit_path: Path | None) -> None:
    """Show what you changed since the last grading of your file.

    \b
    Example: grade diff exercise3
    """
    kit = kit_in_use(kit_path, in_interview=True)
    exercise = kit.find(name)
    with open_history(kit, to_write=False) as history:
        graded, before = history.gradings(exercise.name), history.last_source(exercise.name)
    if before is None:
        raise GradeError(
            f"`{exercise.name}` has not been graded yet; `grade {exercise.name}` does so"
        )
    try:
        now = read_bounded(exercise.file, MAX_SOURCE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GradeError(f"`{exercise.file}` cannot be read: {error}") from None
    last = graded[-1]
    graded_lines, lines_now = before.splitlines(), now.splitlines()
    if max(len(graded_lines), len(lines_now)) > MAX_DIFF_LINES:
        raise GradeError(
            f"`{exercise.file}` has more than {MAX_DIFF_LINES:,} lines, too many to compare here"
        )
    lines = difflib.unified_diff(
        graded_lines,
        lines_now,
        f"{exercise.file.name}, graded {last.started}: {last.earned} / {last.possible}",
        f"{exercise.file.name}, now",
        lineterm="",
    )
    text = "\n".join(map(clean, lines))
    if text:
        click.echo(text)
    else:
        echo(f"`{exercise.file}` is as it was graded: {last.earned} / {last.possible}")
