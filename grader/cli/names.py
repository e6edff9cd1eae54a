"""Exercise names as arguments: completed by the shell, found in the kit."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.arguments import ALL_EXERCISES
from grader.cli.saying import complain
from grader.errors import GradeError
from grader.kit import Kit, load_kit

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

kit_option = click.option(
    "--kit",
    "kit_path",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="PATH",
    envvar="GRADE_KIT",
    help="Folder of another kit, or GRADE_KIT. Its suites run unconfined: use only a kit that you "
    "trust.",
)


def kit_in_use(path: Path | None, in_interview: bool = False, keeps_history: bool = False) -> Kit:
    """Return the kit that a command works on.

    A warning on standard error says if the stubs are outdated, or if the working directory is not
    inside the kit; with ``--kit``, the latter only if the command writes into the history.

    Args:
        path: Value of ``--kit``, if it was given.
        in_interview: Whether the command may be used while an interview is under way.
        keeps_history: Whether the command writes into the history.

    Raises:
        GradeError: There is no kit, or an interview is under way in it.
    """
    kit = load_kit(path)
    if not in_interview:
        kit.refuse_in_interview()
    here = Path.cwd()
    if kit.home.resolve() not in (here, *here.parents) and (path is None or keeps_history):
        from grader.practice.history import history_file

        history = f", history in `{history_file(kit)}`" if keeps_history else ""
        advice = "; `grade init drills` makes a folder of your own" if path is None else ""
        complain(f"the kit is that in `{kit.home}`{history}{advice}")
    if kit.outdated:
        complain(
            f"{len(kit.outdated)} exercises are new or changed since version "
            f"{kit.version} made this folder; `grade init {shlex.quote(str(kit.home))} --update` "
            "brings them, and keeps what you wrote",
        )
    return kit


def with_kit(name: str, path: Path | None) -> str:
    """Return an exercise's name for a command line, followed by ``--kit`` if that was given."""
    if path is None or str(path) == os.environ.get("GRADE_KIT"):
        return name
    return f"{name} --kit {shlex.quote(str(path))}"


def matching_names(
    incomplete: str, extra: tuple[str, ...] = (ALL_EXERCISES,)
) -> list[CompletionItem]:
    """Return completions for the incomplete word: exercise names, and the extra words."""
    from click.shell_completion import CompletionItem

    try:
        exercises = load_kit().exercises
    except GradeError:
        return []
    found = [CompletionItem(e.name, help=e.title) for e in exercises]
    found += [CompletionItem(word) for word in extra]
    return [item for item in found if str(item.value).startswith(incomplete)]


class ExerciseName(click.ParamType[str]):
    """The name of an exercise, completed by the shell."""

    name = "exercise"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the exercise names that begin with the incomplete word."""
        return matching_names(incomplete, extra=())


class ExerciseOrFile(click.ParamType[str]):
    """An exercise's name, ``all``, or a file."""

    name = "exercise or file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with the incomplete word, and let the shell add files."""
        from click.shell_completion import CompletionItem

        return [*matching_names(incomplete), CompletionItem(incomplete, type="file")]


exercise_argument = click.argument("name", metavar="EXERCISE", type=ExerciseName())
