"""``grade interview``: hold a mock interview against the clock."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.cli.names import kit_option
from grader.cli.options import html_option, make_console, no_color_option, write_text
from grader.cli.saying import complain, echo
from grader.errors import GradeError
from grader.kit import Kit, load_kit
from grader.kit.stubs import relative_to_cwd
from grader.languages import say
from grader.practice import interview as interviews
from grader.practice.handing_in import HandedIn, conclude, hand_in
from grader.practice.interview import Interview
from grader.records import Explain, Report
from grader.sandbox.process import Sandbox


@click.group(invoke_without_command=True)
@click.option("--minutes", type=click.FloatRange(0.1, 600), default=45, show_default=True)
@click.option("--exercises", "count", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option(
    "--level",
    type=click.Choice(["easy", "medium", "hard"]),
    help="Level of all exercises; by default mixed.",
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the draw; by default a new one.")
@kit_option
@click.pass_context
def interview(
    ctx: click.Context,
    minutes: float,
    count: int,
    level: str | None,
    seed: int | None,
    kit_path: Path | None,
) -> int:
    """Hold a mock interview: exercises drawn at random, a clock, no hints and no checks.

    They are of the kit in use, which has to be one that came with this package. Some are to be
    written and some repaired. No two are nearly the same, and none was solved here in the last
    seven days.

    The stubs are put into a new folder. Hand in with `grade interview submit`; if the clock is on
    the screen when time runs out, it hands in by itself. Ctrl-C hides the clock, which keeps
    running: `grade interview` in that folder shows it again.

    \b
    Example: grade interview --minutes 45 --exercises 3 --level medium
    """
    if ctx.invoked_subcommand is not None:
        return 0
    here = load_kit()  # an interview in this folder goes on, whatever `--kit` or GRADE_KIT says
    if here.interview:
        return _run(here, interviews.read_record(here.home))
    here = here if kit_path is None else load_kit(kit_path)
    kit = interviews.kit_to_draw_from(here)
    folder = interviews.new_folder(Path())
    names, chosen, enough = interviews.choose_exercises(here, kit, count, level, seed)
    if not enough:
        complain("too few exercises are left that you have not solved in the last days")
    interviews.begin(folder, kit, minutes, names, chosen)
    return _run(load_kit(folder), None)


def _run(kit: Kit, known: Interview | None) -> int:
    """Print an interview's exercises; in a terminal, show the clock and hand in when time is up."""
    current = known or interviews.read_record(kit.home)
    echo(f"{'resumed' if known else 'begun'}: seed {current.seed}, in {kit.home}")
    for exercise in kit.exercises:
        echo(f"  {relative_to_cwd(exercise.file)}  {say(exercise.title)}")
    echo("write them; then, in that folder: `grade interview submit`")
    if not sys.stdout.isatty():
        echo(f"time is up at {current.deadline.astimezone():%H:%M:%S}")
        return 0
    try:
        if not _run_clock(kit, current):
            return 0
    except KeyboardInterrupt:
        echo("\nthe clock keeps running; `grade interview` there shows it again")
        return 0
    echo("\rtime is up" + " " * 20)
    return _submit(kit, None, no_color=False)


def _run_clock(kit: Kit, current: Interview) -> bool:
    """Show the clock until the interview ends.

    Returns:
        True if time is up, False if the learner handed in from another terminal.
    """
    from grader.practice.file_watcher import watch_files

    with watch_files(kit, lambda path: interviews.note_save(kit, path)):
        while (left := (current.deadline - datetime.now(UTC)).total_seconds()) > 0:
            minutes, seconds = divmod(int(left), 60)
            echo(f"\r{minutes:02}:{seconds:02} left ", nl=False)
            time.sleep(min(left, 1.0))
            if not load_kit(kit.home).interview:
                echo("\rhanded in from another terminal")
                return False
    return True


@interview.command()
@html_option("Also write the report as a page.")
@no_color_option
def submit(html_file: Path | None, no_color: bool) -> int:
    """Hand in: grade everything, and say what was right and what to practise.

    \b
    Example: grade interview submit
    """
    kit = load_kit()
    if not kit.interview:
        done = interviews.read_record(kit.home).submitted  # raises if there was no interview
        when = f" on {done.astimezone():%Y-%m-%d at %H:%M}" if done else ""
        raise GradeError(f"this interview was handed in{when}; `grade progress` has its scores")
    return _submit(kit, html_file, no_color)


def _submit(kit: Kit, html_file: Path | None, no_color: bool) -> int:
    handed = hand_in(kit)
    graded = _grade(handed)
    reports = [report for report, _ in graded]
    conclude(kit, handed, graded)
    # Nothing is printed before everything is kept: the reader of a pipe may leave in the middle.
    trouble = _write_page(html_file, graded)
    from grader.outputs.interview import render_interview

    out = make_console(no_color)
    for part in render_interview(reports, handed.minutes, handed.late):
        out.print(part)
    if trouble is not None:
        raise trouble
    return 0 if all(report.solved for report in reports) else 1


def _write_page(path: Path | None, graded: list[tuple[Report, str]]) -> GradeError | None:
    """Write the report as a page if a path is given, and return the error if that fails."""
    from grader.outputs.html import report_page

    try:
        if path is not None:
            write_text(path, report_page(graded))
    except GradeError as error:
        return error
    return None


def _grade(handed: HandedIn) -> list[tuple[Report, str]]:
    graded = []
    with Sandbox() as sandbox:
        from grader.grading import Options, grade

        for exercise, submission in handed.submissions:
            report = grade(submission, exercise, Options(explain=Explain.CAUSE), sandbox)
            graded.append((report, submission.source))
    return graded
