"""``grade batch``: grade the files of many candidates at once."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.batch_begin import BatchCommand, refuse_weak_isolation
from grader.cli.batch_progress import (
    grade_and_tell,
    handle_changed_files,
    resume_command,
    sum_up,
    tell_of_downloads,
    write_and_tell,
)
from grader.cli.names import ExerciseName, kit_in_use, kit_option
from grader.cli.options import isolation_option, warn_of_untried_versions
from grader.hiring.store import BatchStore

FORMS = ("feedback", "excel", "canvas", "moodle", "gradescope", "exercism", "junit")


@click.command(cls=BatchCommand)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "--takehome",
    "record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What candidates were sent, and how it is graded: the record that `grade pack` wrote.",
)
@click.option(
    "--exercise",
    "names",
    multiple=True,
    type=ExerciseName(),
    metavar="NAME",
    help="Without a take-home: an exercise to grade; can be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="results",
    show_default=True,
    metavar="FOLDER",
    help="Folder for the results; a batch that was stopped continues from it.",
)
@click.option(
    "--names",
    "list_of_names",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A CSV file with the columns file,name; id too, for --also canvas and moodle, and to "
    "join the files of one person.",
)
@click.option(
    "--only", multiple=True, metavar="NAME", help="Grade this candidate alone; can be repeated."
)
@click.option("--regrade", is_flag=True, help="Grade again what already has results.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="Number of processes; by default one per core, as far as free memory goes.",
)
@click.option(
    "--ray",
    "address",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Use a Ray cluster: `auto`, host:port or ray://host:port; without an address, one is "
    "started on this machine.",
)
@isolation_option
@click.option(
    "--against",
    "batches",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Compare the files with those of an earlier batch too: its results; can be repeated.",
)
@click.option(
    "--also",
    "forms",
    multiple=True,
    type=click.Choice(FORMS),
    help="Also write the results in this form: a page to send to each candidate (feedback), a "
    "folder for each, or a gradebook to import; can be repeated.",
)
@kit_option
def run(
    submissions: Path,
    record: Path | None,
    names: tuple[str, ...],
    out: Path,
    list_of_names: Path | None,
    only: tuple[str, ...],
    regrade: bool,
    jobs: int | None,
    address: str | None,
    isolation: str,
    batches: tuple[Path, ...],
    forms: tuple[str, ...],
    kit_path: Path | None,
) -> int:
    """Grade a folder that holds a folder, zip, tar, .py or .ipynb for each candidate.

    Every submission is confined; a machine that offers less than level `landlock` is refused,
    unless you ask for `--isolation process`. Results are kept as they come: after Ctrl-C or a
    power cut, run the same command to continue; nothing is graded twice.

    \b
    Example: grade batch submissions --takehome takehome.toml --out results
    Exit codes: 0 all graded, 1 somebody handed in nothing that can be graded, 2 usage,
    3 could not grade.
    """
    from grader.hiring.beginning import begin_batch, expect_own_folder, pool_for, pool_settings
    from grader.hiring.earlier import read_earlier
    from grader.hiring.gradebook import Gradebook
    from grader.hiring.results import BatchResults
    from grader.hiring.roster import read_roster
    from grader.hiring.sent import what_was_sent

    expect_own_folder(out, submissions)
    kit = kit_in_use(kit_path)
    sent = what_was_sent(record, names, kit)
    warn_of_untried_versions()
    earlier = read_earlier(batches, [kit.find(name) for name in sent.weights], out)
    roster = read_roster(
        submissions, list_of_names, sent.weights, kit, only, (out, record, *batches)
    )
    tell_of_downloads(roster.everyone)
    settings = pool_settings(sent.rules, isolation, kit_path)
    with BatchStore(out / "results.sqlite") as store, store.locked(resume_command()):
        with pool_for(settings, jobs, address) as pool:
            refuse_weak_isolation(isolation, pool.capabilities)
            seeds = begin_batch(store, sent, roster, settings, pool.capabilities, submissions)
            if regrade:
                store.forget((one.key, name) for one in roster.chosen for name in sent.weights)
            changes = handle_changed_files(roster, store)
            gradebook = Gradebook(store, roster.everyone, sent.weights, kit, changes)
            results = BatchResults(gradebook, roster.ids, sent.rules.depth)
            progress = grade_and_tell(pool, roster.chosen, seeds, store, results, out)
        write_and_tell(results, out, forms, earlier)
        return sum_up(progress, seeds, roster, store)
