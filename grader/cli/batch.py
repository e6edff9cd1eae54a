"""``grade batch``: grade the files of many candidates at once."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.batch_begin import (
    batch_settings,
    pool_for,
    refuse_weak_isolation,
    submissions_folder,
    what_was_sent,
)
from grader.cli.batch_progress import (
    handle_changed_files,
    make_progress_callback,
    progress_bar,
    resume_command,
    sum_up,
    tell_of_downloads,
    tell_of_rows,
    tell_stopped,
    warn_of_missing_ids,
)
from grader.cli.names import ExerciseName, kit_in_use, kit_option
from grader.cli.options import (
    device_option,
    isolation_option,
    memory_option,
    warn_of_untried_versions,
)
from grader.cli.saying import complain, echo

MAX_MISTAKE_SETS = 2_000  # tried per grading: a fifth of what a single grading tries


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "--takehome",
    "record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What candidates were sent: the record that `grade pack` wrote.",
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
    "--jobs", type=click.IntRange(1, 256), help="Number of processes; by default one per core."
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
@click.option(
    "--seed",
    type=click.IntRange(0, 2**53),
    help="Seed, the same for all candidates; by default the take-home's, else one is drawn.",
)
@click.option(
    "--seeds",
    "count",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="How often to grade each file, on other inputs each time; the lowest score counts.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Processor time for one check, with a third of what it sleeps; all checks together may "
    "take six times as much. What takes long is graded last.",
)
@memory_option
@click.option(
    "--memory-all",
    type=click.IntRange(1024, 1 << 24),
    metavar="MIB",
    help="Memory for the whole batch; by default most of what is free.",
)
@isolation_option
@device_option
@click.option(
    "--also",
    "forms",
    multiple=True,
    type=click.Choice(["junit", "gradescope", "exercism", "canvas", "moodle"]),
    help="Also write the results in this form: a folder for each candidate, or a gradebook to "
    "import; can be repeated.",
)
@click.option(
    "--feedback",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Also write a page to send to each candidate: no values, sources or answers.",
)
@click.option("--bom", is_flag=True, help="Begin the gradebook with a byte-order mark, for Excel.")
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
    seed: int | None,
    count: int,
    timeout: float,
    memory: int,
    memory_all: int | None,
    isolation: str,
    device: str,
    forms: tuple[str, ...],
    feedback: Path | None,
    bom: bool,
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
    from msgspec.structs import replace

    from grader.hiring.batch import (
        Progress,
        choose_seeds,
        compare_submissions,
        find_ungradable,
        grade_all,
        select_candidates,
        stub_as_sent,
    )
    from grader.hiring.candidates import find_candidates, read_names
    from grader.hiring.results import BatchResults
    from grader.hiring.store import BatchStore
    from grader.hiring.tasks import PoolSettings

    kit = kit_in_use(kit_path)
    weights, sent, packed = what_was_sent(record, names, kit)
    exercises = [kit.find(name) for name in weights]
    warn_of_untried_versions()
    listed = read_names(list_of_names) if list_of_names else {}
    everyone = find_candidates(
        submissions,
        list(weights),
        listed,
        [path for path in (out, record, list_of_names) if path is not None],
        {exercise.name: exercise.entry_points for exercise in kit.exercises},
        {exercise.name: stub_as_sent(exercise) for exercise in exercises},
    )
    tell_of_downloads(everyone)
    called = {candidate.key: candidate.name for candidate in everyone}
    key_of = {file: candidate.key for candidate in everyone for file in candidate.files}
    by_key = {key_of.get(file, file): one for file, one in listed.items()}
    chosen = select_candidates(everyone, only)
    settings = PoolSettings(
        str(kit_path or ""), isolation, device, timeout, memory, MAX_MISTAKE_SETS
    )
    with BatchStore(out / "results.sqlite") as store, store.locked(resume_command()):
        seeds = choose_seeds(seed, count, store.known_settings(), packed)
        with pool_for(settings, jobs, memory_all, address) as pool, progress_bar() as tell:
            refuse_weak_isolation(isolation, pool.capabilities)
            begun = batch_settings(pool.capabilities, settings, sent, tuple(weights), seeds)
            store.begin_or_resume(
                replace(begun, submissions=submissions_folder(submissions, store))
            )
            store.check_and_record_names({key: one.name for key, one in by_key.items()}, called)
            if regrade:
                store.forget((one.key, name) for one in chosen for name in weights)
            store.keep("command", resume_command())
            store.keep_weights(weights)
            changes = handle_changed_files(everyone, chosen, store)
            known_by = {key: one.id for key, one in by_key.items()}
            results = BatchResults(store, everyone, weights, kit, bom, known_by, changes)
            progress = Progress.of(chosen, seeds, store)
            try:
                grade_all(
                    pool.run,
                    chosen,
                    seeds,
                    store,
                    progress,
                    make_progress_callback(tell, results, out),
                )
            except KeyboardInterrupt:
                results.write_gradebook(out)
                tell_stopped(progress)
                return 130
        for reason in getattr(pool, "left_out", {}).values():  # nodes that a cluster left out
            complain(reason)
        echo("comparing the submissions with each other", err=True)
        alike = compare_submissions(store, exercises, called)
        for path in results.write(out, forms, alike):
            echo(f"wrote `{path}`")
            warn_of_missing_ids(path, results.without_id(path.stem))
        if feedback is not None:
            echo(f"wrote `{results.write_feedback(feedback)}`")
        ungradable, unread = find_ungradable(chosen, store)
        tell_of_rows(list(weights), results.rows())
    return sum_up(progress, seeds, called, ungradable, unread)
