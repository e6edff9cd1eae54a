"""The commands around a learner's folder: list, hint, solution, reset, init."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.names import exercise_argument, kit_option
from grader.errors import GradeError
from grader.kit import installed_kit, load_kit
from grader.practice.history import open_history
from grader.stubs import is_edited, make_folder, put_back


@click.command("list")
@kit_option
def list_exercises(kit_path: Path | None) -> None:
    """List the exercises in teaching order, and how far you are.

    \b
    Example: grade list
    """
    kit = load_kit(kit_path)
    with open_history(kit, to_write=False) as history:
        solved = history.solved()
    click.echo(f"{kit.title}, in {kit.home}")
    track = ""
    for exercise in kit.exercises:
        if exercise.track != track:
            track = exercise.track
            click.echo(f"\n{track}")
        started = "started" if kit.own_stubs and is_edited(exercise) else ""
        state = "solved" if exercise.name in solved else started
        click.echo(f"  {exercise.name:<11} {state:<8} {exercise.title}")


@click.command()
@exercise_argument
@kit_option
def hint(name: str, kit_path: Path | None) -> None:
    """Show one more hint, a question, each time.

    \b
    Example: grade hint exercise3
    """
    kit = load_kit(kit_path)
    exercise = kit.find(name)
    total = len(exercise.hints)
    with open_history(kit) as history:
        before = history.hints(name)
        shown = min(before + 1, total)
        history.show_hints(name, shown)
    for number, text in enumerate(exercise.hints[:shown], start=1):
        click.echo(f"hint {number} of {total}: {text}")
    if before >= total:
        click.echo(f"that is all; `grade solution {name} --reveal` shows ours")


@click.command()
@exercise_argument
@click.option("--reveal", is_flag=True, help="Show it although the exercise is not solved.")
@kit_option
def solution(name: str, reveal: bool, kit_path: Path | None) -> None:
    """Show our solution, once the exercise is solved.

    \b
    Example: grade solution exercise3 --reveal
    """
    kit = load_kit(kit_path)
    exercise = kit.find(name)
    with open_history(kit, to_write=False) as history:
        solved = history.solved()
    if not reveal and name not in solved:
        raise GradeError(
            f"`{name}` is not solved yet; `grade hint {name}` helps on, "
            f"`grade solution {name} --reveal` shows ours all the same"
        )
    click.echo(exercise.solution.read_text(encoding="utf-8"), nl=False)


@click.command()
@exercise_argument
@kit_option
def reset(name: str, kit_path: Path | None) -> None:
    """Put the stub back; what it replaces is kept.

    \b
    Example: grade reset exercise3
    """
    kit = load_kit(kit_path)
    exercise = kit.find(name)
    kept = put_back(exercise, kit)
    click.echo(f"`{exercise.file}` is the stub again")
    if kept is not None:
        click.echo(f"what it replaced is kept in `{kept}`")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def init(folder: Path) -> None:
    """Make a folder with a fresh set of stubs.

    \b
    Example: grade init drills
    """
    kit = installed_kit()
    make_folder(folder, kit)
    first = kit.exercises[0]
    click.echo(f"{len(kit.exercises)} stubs in `{folder / 'exercises'}`")
    click.echo(
        f"next: cd {folder}, edit exercises/{first.track}/{first.name}.py, `grade {first.name}`"
    )
