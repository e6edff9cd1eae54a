"""The commands around a learner's folder: list, contract, hint, solution, reset, init."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from grader.cli.names import exercise_argument, kit_in_use, kit_option, with_kit
from grader.cli.saying import echo
from grader.errors import GradeError
from grader.kit import installed_kit, load_kit
from grader.kit.stubs import shipped_stub
from grader.languages import say
from grader.languages.stubs import translate_source
from grader.practice import folder as folders
from grader.practice.folder import add_notebook, list_lines, make_folder, start_anew, update_folder
from grader.practice.history import open_history


@click.command("list")
@kit_option
def list_exercises(kit_path: Path | None) -> None:
    """List the exercises in teaching order, and how far you are.

    \b
    Example: grade list
    """
    kit = kit_in_use(kit_path, in_interview=True)
    with open_history(kit, to_write=False) as history:
        solved = history.solved()
    echo(f"{kit.title}, in {kit.home}\n")
    for line in list_lines(kit, solved):
        click.echo(line)


@click.command()
@exercise_argument
@kit_option
def contract(name: str, kit_path: Path | None) -> None:
    """Print an exercise's contract: its stub as shipped, what it says in your language.

    \b
    Example: grade contract exercise3 --lang zh
    """
    kit = kit_in_use(kit_path, in_interview=True)
    click.echo(translate_source(shipped_stub(kit.find(name)).decode()), nl=False)


@click.command()
@exercise_argument
@kit_option
def hint(name: str, kit_path: Path | None) -> None:
    """Show one more hint, a question, each time.

    \b
    Example: grade hint exercise3
    """
    kit = kit_in_use(kit_path, keeps_history=True)
    exercise = kit.find(name)
    total = len(exercise.hints)
    with open_history(kit) as history:
        before = history.hints(exercise.name)
        shown = history.next_hint(exercise)
    for number, text in enumerate(shown, start=1):
        click.echo(f"{say(f'hint {number} of {total}')}: {say(text)}")
    if before >= total:
        asked = with_kit(exercise.name, kit_path)
        echo(f"that is all; `grade solution {asked} --reveal` shows ours")


@click.command()
@exercise_argument
@click.option("--reveal", is_flag=True, help="Show it even if the exercise is not solved.")
@kit_option
def solution(name: str, reveal: bool, kit_path: Path | None) -> None:
    """Show our solution, once the exercise is solved.

    \b
    Example: grade solution exercise3 --reveal
    """
    kit = kit_in_use(kit_path, keeps_history=True)
    exercise = kit.find(name)
    with open_history(kit) as history:
        solved = exercise.name in history.solved()
    if not reveal and not solved:
        asked = with_kit(exercise.name, kit_path)
        raise GradeError(
            f"`{exercise.name}` is not solved yet; `grade hint {asked}` helps on, "
            f"`grade solution {asked} --reveal` shows ours all the same"
        )
    click.echo(folders.reveal_solution(exercise, kit), nl=False)


@click.command()
@exercise_argument
@kit_option
def reset(name: str, kit_path: Path | None) -> None:
    """Put the stub back; what it replaces is kept.

    \b
    Example: grade reset exercise3
    """
    kit = kit_in_use(kit_path, keeps_history=True)
    exercise = kit.find(name)
    kept = start_anew(exercise, kit)
    echo(f"`{exercise.file}` is the stub again")
    for path in kept:
        echo(f"what it replaced is kept in `{path}`")


@click.command()
@exercise_argument
@kit_option
def notebook(name: str, kit_path: Path | None) -> None:
    """Write a notebook beside an exercise's file: the contract, the stub under `%%grade`, hints.

    \b
    Example: grade notebook exercise3
    """
    kit = kit_in_use(kit_path)
    file = add_notebook(kit.find(name), kit)
    echo(f"`{file}` is made; its cell that begins with `%%grade` grades itself when it runs")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--update", is_flag=True, help="Update an existing folder to this version.")
@click.option("--notebooks", is_flag=True, help="Also write a notebook for each stub.")
@click.option("--kit", "name", default="", help="Of another kit that comes with it: `training`.")
def init(folder: Path, update: bool, notebooks: bool, name: str) -> None:
    """Make a folder with a fresh set of stubs.

    \b
    Example: grade init drills
    """
    if update:
        _update(folder, notebooks)
        return
    kit = installed_kit(name)
    make_folder(folder, kit, notebooks=notebooks)
    first = kit.exercises[0]
    echo(f"{len(kit.exercises)} stubs in `{folder / 'exercises'}`")
    echo(
        f"next: cd {shlex.quote(str(folder))}, edit exercises/{first.track}/{first.name}.py, "
        f"`grade {first.name}`; or `grade watch`, which grades whatever you save"
    )


def _update(folder: Path, notebooks: bool) -> None:
    kit = load_kit(folder)
    done = update_folder(kit, notebooks)
    for name, what in done.items():
        advice = f"; `grade reset {name}` gives the new stub" if what == "kept" else ""
        click.echo(f"  {name:<11} {say(what)}{say(advice)}")
    if not done:
        echo(f"`{folder}` is up to date")
