"""The messages of ``grade batch`` while it runs and when it is done."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.saying import complain, echo
from grader.languages import say
from grader.records import GradebookRow, Status

GRADEBOOK_INTERVAL_S = 5.0  # at least, from writing the gradebook to writing it again

if TYPE_CHECKING:
    from grader.hiring.batch import Progress
    from grader.hiring.candidates import Candidate
    from grader.hiring.cluster import Cluster
    from grader.hiring.earlier import EarlierSubmissions
    from grader.hiring.process_pool import GradingPool
    from grader.hiring.results import BatchResults
    from grader.hiring.roster import Roster
    from grader.hiring.store import BatchStore


def grade_and_tell(
    pool: GradingPool | Cluster,
    chosen: Sequence[Candidate],
    seeds: Sequence[int],
    store: BatchStore,
    results: BatchResults,
    out: Path,
) -> Progress:
    """Grade what is still to be graded while a bar shows how far it is; return the progress.

    The gradebook grows meanwhile, and is there as well after Ctrl-C.

    Raises:
        click.exceptions.Exit: Ctrl-C; how to continue is said.
    """
    from grader.hiring.batch import Progress, grade_all

    progress = Progress.of(chosen, seeds, store)
    with progress_bar() as tell:
        callback = make_progress_callback(tell, results, out)
        try:
            grade_all(pool.run, chosen, seeds, store, progress, callback)
        except KeyboardInterrupt:
            results.write_gradebook(out)
            tell_stopped(progress)
            raise click.exceptions.Exit(130) from None
    results.book.explain_missing(
        {(task.candidate, task.exercise): why for task, why in progress.faults}
    )
    for reason in pool.left_out.values():
        complain(reason)
    return progress


def write_and_tell(
    results: BatchResults, out: Path, forms: Sequence[str], earlier: EarlierSubmissions
) -> None:
    """Compare the submissions, write all results, and say what was written and what came of it."""
    echo("comparing the submissions with each other", err=True)
    for path in results.write(out, forms, results.compare(earlier)):
        echo(f"wrote `{path}`")
        warn_of_missing_ids(path, results.without_id(path.stem))
    tell_of_rows(results.book.exercises, results.book.rows())


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar with rate and time left on standard error; in a pipe, some lines."""
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        *(bars.BarColumn(), bars.MofNCompleteColumn()),
        *(bars.TextColumn("{task.fields[rate]}"), bars.TimeRemainingColumn()),
    )
    with bars.Progress(*columns, console=console) as bar:
        task = bar.add_task("grading", rate="")

        def tell(progress: Progress) -> None:
            bar.update(task, total=progress.total, completed=progress.done + len(progress.faults))
            bar.update(task, rate=f"{progress.rate:.1f} a second")

        yield tell


def make_progress_callback(
    tell: Callable[[Progress], None], results: BatchResults, out: Path
) -> Callable[[Progress], None]:
    """Return a callback that shows progress and now and then rewrites the gradebook.

    Writing takes at most about a twentieth of the time, so a large gradebook costs little.
    """
    following = 0.0

    def tell_and_write(progress: Progress) -> None:
        nonlocal following
        tell(progress)
        began = time.monotonic()
        if began >= following:
            results.write_gradebook(out)
            now = time.monotonic()
            following = now + max(GRADEBOOK_INTERVAL_S, 20 * (now - began))

    return tell_and_write


def resume_command(anew: str = "") -> str:
    """Return this command, quoted for a shell and without ``--regrade``: it grades nothing twice.

    Args:
        anew: A candidate for the command to grade again, and nobody else; empty for none.
    """
    words = list(click.get_current_context().find_object(tuple) or ("grade", "batch"))
    words = [word for word in words if word != "--regrade"]
    if anew:
        pairs = [(before, word) for before, word in pairwise(["", *words]) if before != "--only"]
        words = [word for _, word in pairs if word.partition("=")[0] != "--only"]
        words += ["--only", anew, "--regrade"]
    return shlex.join(words)


def tell_stopped(progress: Progress) -> None:
    """Say how far the batch got before it was stopped, and how to continue."""
    echo(
        f"stopped: {progress.done} of {progress.total} graded, and kept; run it again to "
        f"continue: `{resume_command()}`",
        err=True,
    )


def tell_of_downloads(everyone: Sequence[Candidate]) -> None:
    """Say which files were read as a course system's downloads: other names may look alike."""
    for system in sorted({one.owner.system for one in everyone if one.owner}):
        theirs = [one for one in everyone if one.owner and one.owner.system == system]
        files = sum(len(one.files) for one in theirs)
        echo(f"named as by {system}: {files} entries of {len(theirs)} people", err=True)


def warn_of_missing_ids(path: Path, people: Sequence[str]) -> None:
    """Warn that a course system cannot identify some people in a gradebook, for want of an id."""
    if people:
        complain(
            f"`{path}`: no id is known of {len(people)}, `{people[0]}` first; --names FILE with a "
            "column `id` gives them one"
        )


def handle_changed_files(roster: Roster, store: BatchStore) -> dict[tuple[str, str], str]:
    """Return advice for each (candidate key, exercise) whose file changed since it was graded.

    On standard error, say for which there was no file to grade before, and is one now.
    """
    from grader.hiring.batch import forget_superseded

    again, changed = forget_superseded(roster.everyone, roster.chosen, store)
    called = roster.names
    for key, exercise in again:
        echo(f"`{called[key]}`, {exercise}: there was nothing to grade, and is now", err=True)
    again_by = {key: resume_command(called[key]) for key, _ in changed}
    return {
        one: f"changed since it was graded; `{again_by[one[0]]}` grades it anew" for one in changed
    }


def tell_of_rows(exercises: Sequence[str], rows: Sequence[GradebookRow]) -> None:
    """Print the notes on candidates' scores that need attention, and count statuses by exercise."""
    for row in rows:
        for name, score in zip(exercises, row.scores, strict=True):
            if score.marks:
                complain(f"`{row.candidate}`, {name}: {say(score.note)}")
    for number, name in enumerate(exercises):
        counts = Counter(row.scores[number].status for row in rows)
        found = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
        echo(f"{name}: {found}")


def sum_up(progress: Progress, seeds: Sequence[int], roster: Roster, store: BatchStore) -> int:
    """Print a summary of the batch and return the exit code.

    The code is 3 if a grading failed through a fault of the grader, else 1 if a candidate's work
    is missing or could not be read, else 0.
    """
    from grader.hiring.batch import find_ungradable

    ungradable, unread = find_ungradable(roster.chosen, store)
    new = progress.done - progress.before
    again = f", {progress.before} were there before" if progress.before else ""
    for name, why in ungradable.items():
        complain(f"nothing to grade of `{name}`: {why}")
    for what, why in unread.items():
        complain(f"{what} could not be read: {why}")
    without = f"; {len(ungradable)} with nothing to grade" if ungradable else ""
    echo(f"{new} graded{again}; seed {', '.join(map(str, seeds))}{without}")
    called = roster.names
    for task, fault in progress.faults:
        complain(f"not graded: `{called[task.candidate]}`, {task.exercise}: {fault}")
    if progress.faults:
        complain("run the same command to try these again")
        return 3
    return 1 if ungradable or unread else 0
