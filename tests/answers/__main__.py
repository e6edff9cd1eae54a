"""``python -m tests.answers``: prints known answers, lists them, adds one."""

from __future__ import annotations

from pathlib import Path

import click

from grader.authoring.answer_files import (
    MAX_BASE_DEPTH,
    SOLUTION,
    AnswersMistake,
    Entry,
    depth,
    source_of,
    written,
)
from grader.authoring.answers import answers_file, entries_of
from grader.kit import Exercise, installed_kit
from grader.submission import read_submission
from tests.support.answers import answers, find
from tests.support.edit_finding import bare, edits_between, is_same
from tests.support.wrong import wrong_versions

WORTH = 0.7  # of its own lines, at which edits are longer to read than the whole


@click.group()
def main() -> None:
    """Known answers of the exercises: `tests/answers/NAME.answers`."""


@main.command()
@click.argument("exercise")
@click.argument("name")
def show(exercise: str, name: str) -> None:
    """Print an answer as it is graded."""
    one = installed_kit().find(exercise)
    try:
        click.echo(find(one, name).submission.source, nl=False)
    except KeyError:
        raise click.ClickException(f"{exercise} has no answer `{name}`; see `list`") from None


@main.command("list")
@click.argument("exercises", nargs=-1)
@click.option("--loses", metavar="CHECK", help="Those alone that are known to lose this check.")
def list_all(exercises: tuple[str, ...], loses: str | None) -> None:
    """List the answers, with what each is."""
    for exercise in installed_kit().exercises:
        if exercises and exercise.name not in exercises:
            continue
        for one in answers(exercise):
            if loses is None or loses in one.loses:
                click.echo(f"{exercise.name} {one.name}: {one.what}")
        for wrong in wrong_versions(exercise):
            if loses in (None, wrong.mistake.loses):
                click.echo(f"{exercise.name} `{wrong.mistake.name}`: {wrong.mistake.says}")


@main.command()
@click.argument("exercise")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", help="What it is called; without it, as the file.")
def add(exercise: str, file: Path, name: str | None) -> None:
    """Add a file: as edits of the answer that it is nearest to, or whole.

    Its first comment says what it is. FILE is named `right_…`, `slow_…` or `wrong_…`.
    """
    one = installed_kit().find(exercise)
    source = read_submission(file).source
    try:
        entry = _nearest(one, Entry(name or file.stem, "", *_whole(source)), source)
        if entry.name in entries_of(one):
            raise AnswersMistake(f"{exercise} has an answer `{entry.name}` already; --name NAME")
    except (AnswersMistake, SyntaxError) as mistake:
        raise click.ClickException(str(mistake)) from None
    path = answers_file(one)
    before = path.read_text(encoding="utf-8") if path.is_file() else f"Answers of {exercise}.\n"
    path.write_text(f"{before}\n{entry.text()}", encoding="utf-8")
    how = f"{len(entry.edits)} edits of {entry.base}" if entry.base else "whole"
    click.echo(f"added `{entry.name}` to {path}: {how}, {len(entry.lines)} lines")


def _whole(source: str) -> tuple[dict[str, str], list[str]]:
    """What a file says of itself, and its lines."""
    lines = bare(source)
    first = next((place for place, line in enumerate(lines) if line[:1] not in ("", "#")), 0)
    says = " ".join(line.lstrip("# ") for line in lines[:first] if line)
    return ({"what": says} if says else {}), lines[first:]


def _nearest(exercise: Exercise, entry: Entry, source: str) -> Entry:
    """The same as edits, where that is shorter."""
    entries = entries_of(exercise)
    solution = exercise.solution.read_text(encoding="utf-8")
    bases = {
        name: source_of(one, entries, solution)
        for name, one in entries.items()
        if depth(name, entries) <= MAX_BASE_DEPTH
    }
    best = entry
    for name, base in {SOLUTION: solution, **bases}.items():
        if is_same(base, source):
            raise AnswersMistake(f"it is the same program as `{name}`")
        try:
            lines = written(edits_between(base, source))
        except AnswersMistake:
            continue
        if len(lines) < min(len(best.lines), WORTH * len(entry.lines)):
            best = Entry(entry.name, name, entry.known, lines)
    return best


if __name__ == "__main__":
    main(prog_name="python -m tests.answers")
