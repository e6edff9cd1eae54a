"""The commands that say what to do next: next, review."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.cli.names import kit_in_use, kit_option, with_kit
from grader.cli.saying import echo
from grader.kit import Exercise, Kit
from grader.languages import say
from grader.practice.agenda import (
    Reason,
    ago,
    choose_next_exercise,
    due,
    due_later,
    from_now,
    review_lines,
)
from grader.practice.history import open_history
from grader.practice.schedule import Standing, standings


@click.command("next")
@kit_option
def next_exercise(kit_path: Path | None) -> None:
    """Say what to do now: go on, review what is due, or begin something new.

    \b
    Example: grade next
    """
    kit, known, now = _standings(kit_path)
    turn = choose_next_exercise(kit, known, now)
    if turn is None:
        echo(f"all {len(kit.exercises)} exercises are solved, and nothing is due yet")
        for when, one in due_later(known, now)[:1]:
            echo(f"next: `{one.exercise}`, due {from_now(when, now)}")
        return
    exercise = turn.exercise
    click.echo(f"{exercise.name}: {say(exercise.title)}")
    asked = with_kit(exercise.name, kit_path)
    for line in _advice(exercise, asked, turn.reason, known, now):
        click.echo(f"  {say(line)}")
    others = [one.exercise for one in due(known, now) if one.exercise != exercise.name]
    if others:
        echo(f"due for review too: {', '.join(others)}; `grade review` says more")


def _advice(
    exercise: Exercise, name: str, reason: Reason, known: dict[str, Standing], now: datetime
) -> list[str]:
    file = os.path.relpath(exercise.file)
    go = f"edit {file}, and `grade {name}`; or `grade watch {name}`, which grades what you save"
    match reason:
        case Reason.UNDER_WAY:
            return ["begun, not yet solved: go on", go]
        case Reason.NEW:
            return ["new", go]
    one = known[exercise.name]
    assert one.solved is not None
    return [
        f"due for review: solved {ago((now - one.solved).days)}, "
        f"{one.remembered:.0%} likely that you still know it",
        f"`grade reset {name}` puts the stub back and keeps yours; then write it from memory",
    ]


@click.command()
@kit_option
def review(kit_path: Path | None) -> None:
    """List the solved exercises that are due again, and those that will be.

    When is up to FSRS, a scheduler for spaced repetition. An exercise counts as remembered when
    it is solved again from its stub (`grade reset`); tries, hints and time tell how well.

    \b
    Example: grade review
    """
    _kit, known, now = _standings(kit_path)
    waiting, later = due(known, now), due_later(known, now)
    if not waiting and not later:
        echo("nothing solved yet, so nothing to review; next: `grade next`")
    for line in review_lines(waiting, later, now):
        echo(line)


def _standings(kit_path: Path | None) -> tuple[Kit, dict[str, Standing], datetime]:
    kit = kit_in_use(kit_path)
    now = datetime.now(UTC)
    with open_history(kit, to_write=False) as history:
        return kit, standings(kit, history, now), now
