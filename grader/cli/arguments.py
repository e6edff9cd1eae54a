"""Resolve the arguments of a command to exercises and the files to grade as them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.stubs import own_file

ALL_EXERCISES = "all"


def resolve_targets(words: Sequence[str], kit: Kit) -> list[tuple[Exercise, Path]]:
    """Return pairs of an exercise and the file to grade as it.

    An exercise's name alone stands for the learner's file in the kit; a path after a name is
    graded as that exercise; for a path without one, its file name says which exercise it is.

    Raises:
        GradeError: A word is neither an exercise nor a path, a path does not say which exercise
            it is, or the kit holds no file that a learner could have edited.
    """
    found: list[tuple[Exercise, Path]] = []
    named: Exercise | None = None  # an exercise that no path has followed yet
    current: Exercise | None = None
    for word in words:
        if not _is_path(word, kit):
            if named is not None:
                found.append(_own_file(named, kit))
            if word == ALL_EXERCISES:
                found.extend(_own_file(exercise, kit) for exercise in kit.exercises)
                named = current = None
            else:
                named = current = _find_exercise(word, kit)
            continue
        found.append((current or _exercise_of_file(Path(word), kit), Path(word)))
        named = None
    if named is not None:
        found.append(_own_file(named, kit))
    return found


def _is_path(word: str, kit: Kit) -> bool:
    if word == ALL_EXERCISES or any(exercise.name == word for exercise in kit.exercises):
        return False
    return "/" in word or word.endswith((".py", ".ipynb")) or Path(word).exists()


def _find_exercise(word: str, kit: Kit) -> Exercise:
    """Return the exercise with a name; the error suggests a command whose name is similar."""
    try:
        return kit.find(word)
    except GradeError:
        import difflib  # loaded only when a name is wrong

        commands = _commands()
        names = [*commands, *(exercise.name for exercise in kit.exercises)]
        near = difflib.get_close_matches(word, names, n=1)
        if near and near[0] in commands:
            raise GradeError(
                f"there is no command or exercise `{word}`; did you mean `grade {near[0]}`?"
            ) from None
        raise


def _commands() -> list[str]:
    """Return the names of all commands, or none when called outside a click command."""
    context = click.get_current_context(silent=True)
    root = context.find_root().command if context else None
    return root.list_commands(context) if context and isinstance(root, click.Group) else []


def _exercise_of_file(path: Path, kit: Kit) -> Exercise:
    if (exercise := kit.find_or_none(path.stem)) is not None:
        return exercise
    raise GradeError(
        f"`{path}` does not say which exercise it is; name it first: "
        f"`grade EXERCISE {shlex.quote(str(path))}`"
    )


def _own_file(exercise: Exercise, kit: Kit) -> tuple[Exercise, Path]:
    return exercise, own_file(exercise, kit)
