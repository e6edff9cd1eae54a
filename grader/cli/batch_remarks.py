"""``grade batch note``, ``override`` and ``explain``: a team's remarks on a candidate."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from grader.cli.names import kit_in_use, kit_option
from grader.cli.saying import echo
from grader.errors import GradeError
from grader.hiring.remarks import DECISIONS, Remarks, in_words
from grader.hiring.store import BatchStore
from grader.outputs.sanitise import composed, show_invisible

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="results",
    show_default=True,
    metavar="FOLDER",
    help="Folder of the results.",
)


@click.command()
@click.argument("name")
@click.argument("text", required=False, default="")
@click.option("--decision", type=click.Choice(DECISIONS), help="What was decided.")
@out_option
def note(name: str, text: str, decision: str | None, out: Path) -> None:
    """Note something about a candidate, and what was decided.

    \b
    Example: grade batch note ada "asks why √D: strong" --decision yes
    """
    if not text and decision is None:
        raise GradeError("there is nothing to note: give a text, or --decision")
    with open_batch(out) as store:
        _add_remark(store, _find_candidate(name, store), text=text, decision=decision or "")


@click.command()
@click.argument("name")
@click.argument("exercise")
@click.argument("points", metavar="POINTS|-")
@click.option("--why", required=True, metavar="TEXT", help="Shown to the team beside the score.")
@out_option
def override(name: str, exercise: str, points: str, why: str, out: Path) -> None:
    """Set a candidate's points of an exercise by hand; `-` takes that back.

    \b
    Example: grade batch override ada exercise3 38 --why "the mask is right: a fault of ours"
    """
    with open_batch(out) as store:
        key = _find_candidate(name, store)
        graded = {one.exercise: one.report for one in store.results(key)}
        if exercise not in graded:
            known = ", ".join(f"`{one}`" for one in graded) or "nothing"
            raise GradeError(f"`{name}` has no graded `{exercise}`; graded is {known}")
        most = graded[exercise].possible
        if points != "-" and points not in map(str, range(most + 1)):
            raise GradeError(f"`{points}`: points are 0 to {most}, or `-` to take them back")
        number = None if points == "-" else int(points)
        _add_remark(store, key, text=why, exercise=exercise, points=number)


@click.command()
@click.argument("name")
@out_option
@kit_option
def explain(name: str, out: Path, kit_path: Path | None) -> None:
    """Print how a candidate's total comes about, the checks that cost points, and all notes.

    \b
    Example: grade batch explain ada
    """
    from grader.hiring.candidates import Candidate
    from grader.hiring.gradebook import Gradebook
    from grader.hiring.scoring import lowest_reports

    kit = kit_in_use(kit_path)
    with open_batch(out) as store:
        key, weights = _find_candidate(name, store), store.weights()
        candidate = Candidate(store.names()[key], {}, key)
        row = Gradebook(store, [candidate], weights, kit).row_of(candidate)
        reports = {one.exercise: one for one in lowest_reports(list(store.results(key)))}
    echo(row.candidate)
    for (exercise, weight), score in zip(weights.items(), row.scores, strict=True):
        share = f"{100 * score.earned / max(score.possible, 1):.2f} %"
        points = f"{score.earned} / {score.possible} = {share}" if score.possible else "0 %"
        echo(f"  {exercise}: {points}, weight {weight:g}, {score.status}")
        for said in filter(None, (*score.diagnosis, score.note)):
            click.echo(f"    {show_invisible(said)}")
        report = reports.get(exercise)
        for check in report.checks if report and not report.problem else ():
            if check.is_lost:
                click.echo(f"    -{check.points} {show_invisible(check.claim)}")
    total = "not known yet" if row.total is None else f"{100 * row.total:.2f} %"
    echo(f"  total: {total}, the mean of the shares by weight")
    for said in row.remarks:
        click.echo(f"  {show_invisible(said)}")


def open_batch(out: Path) -> BatchStore:
    """Open the store of a batch that has been run."""
    if not (out / "results.sqlite").is_file():
        raise GradeError(f"`{out}` holds no batch; --out names the folder of its results")
    return BatchStore(out / "results.sqlite")


def _find_candidate(name: str, store: BatchStore) -> str:
    """Return the key, unique in a batch, of the only candidate with this name or key."""
    names, name = store.names(), composed(name)
    found = [key for key, called in names.items() if name in (key, called)]
    if len(found) == 1:
        return found[0]
    if found:
        raise GradeError(f"`{name}` may be {' or '.join(f'`{key}`' for key in found)}")
    near = difflib.get_close_matches(name, [*names.values(), *names], n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    raise GradeError(f"there is no candidate `{name}`{hint}")


def _add_remark(store: BatchStore, key: str, **said: str | int | None) -> None:
    remark = Remarks(store.path.parent).add(key, **said)
    echo(f"noted of `{store.names()[key]}`: {in_words(remark)}")
    if command := store.fact("command"):
        echo(f"`{command}` writes it to gradebook and page")
