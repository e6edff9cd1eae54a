"""A learner's folder: make it, update it to a newer version, reopen it after an interview."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from grader import __version__
from grader.errors import GradeError
from grader.kit import MANIFEST, Exercise, Kit
from grader.kit.notebooks import is_notebook_edited, notebook_file, notebook_of, put_notebook
from grader.kit.stubs import is_edited, own_file, refuse_link_out, restore_stub, shipped_stub
from grader.languages import say
from grader.languages.columns import pad_to_width
from grader.practice.history import Event, open_history
from grader.records import Explain

MIN_NAME_WIDTH = 11  # characters of the column of names
PICKED_PREFIX = "> "  # begins the line of the marked exercise


def list_lines(kit: Kit, solved: set[str], picked: int = -1) -> list[str]:
    """Return a line for each exercise in teaching order, under the names of their tracks.

    Args:
        kit: The kit whose exercises are listed.
        solved: Names of the exercises that were solved.
        picked: Index of the exercise to mark, from 0; -1 for none.
    """
    lines = []
    marked = kit.exercises[picked] if picked >= 0 else None
    wide = max([MIN_NAME_WIDTH, *(len(one.name) for one in kit.exercises)])
    for track, exercises in itertools.groupby(kit.exercises, lambda exercise: exercise.track):
        lines += ["", track]
        for exercise in exercises:
            edited = is_edited(exercise) or is_notebook_edited(exercise)
            started = "started" if kit.own_stubs and edited else ""
            state = "solved" if exercise.name in solved else started
            mark = PICKED_PREFIX if exercise is marked else "  "
            title = say(exercise.title)
            lines.append(f"{mark}{exercise.name:<{wide}} {pad_to_width(say(state), 8)} {title}")
    return lines[1:]


def start_anew(exercise: Exercise, kit: Kit) -> list[Path]:
    """Put the stub back for a fresh start, and the notebook where there is one.

    Returns:
        The paths where the replaced files are kept.

    Raises:
        GradeError: The kit has no folder that a learner edits, or the stub cannot be found.
    """
    kept = [restore_stub(exercise, kit)]
    if notebook_file(exercise).exists():
        kept.append(put_notebook(exercise, kit))
    with open_history(kit) as history:
        history.record_event(exercise.name, Event.RESET)
    return [path for path in kept if path is not None]


def add_notebook(exercise: Exercise, kit: Kit) -> Path:
    """Write an exercise's notebook beside its file.

    Raises:
        GradeError: The notebook exists already, or the kit has no folder that a learner edits.
    """
    own_file(exercise, kit)
    file = notebook_file(exercise)
    if file.exists():
        raise GradeError(
            f"`{file}` already exists; `grade reset {exercise.name}` gives a fresh one"
        )
    put_notebook(exercise, kit)
    return file


def reveal_solution(exercise: Exercise, kit: Kit) -> str:
    """Return our solution, and note in the history that it was read.

    Raises:
        GradeError: The history cannot be written.
    """
    with open_history(kit) as history:
        history.record_event(exercise.name, Event.REVEALED)
    return exercise.solution.read_text(encoding="utf-8")


def make_folder(
    folder: Path,
    kit: Kit,
    only: Sequence[str] = (),
    interview: bool = False,
    notebooks: bool = False,
) -> None:
    """Make a fresh folder with a kit's stubs.

    Args:
        folder: The folder, which is created if it is missing.
        kit: The kit whose stubs are written.
        only: Names of the exercises to write; empty for all.
        interview: Whether an interview begins in the folder.
        notebooks: Whether to write a notebook beside each stub.

    Raises:
        GradeError: The folder has exercises already, or cannot be written.
    """
    target = folder / "exercises"
    if target.exists() and not (target / MANIFEST).exists():
        raise GradeError(f"`{target}` exists, but has no `{MANIFEST}`; move it away first")
    if target.exists():
        raise GradeError(
            f"`{target}` already exists; `grade init {shlex.quote(str(folder))} --update` brings "
            "it up to date, `grade reset EXERCISE` renews one stub"
        )
    chosen = tuple(kit.find(name) for name in only) or kit.exercises
    with _writing(folder):
        # The manifest comes first, so that `--update` can complete a folder left half made.
        made = replace(kit, exercises=chosen, only=tuple(only), interview=interview)
        _write_manifest(folder, made)
        for exercise in chosen:
            file = target / exercise.track / f"{exercise.name}.py"
            _write(file, shipped_stub(exercise))
            if notebooks:
                _write(file.with_suffix(".ipynb"), notebook_of(exercise))


def update_folder(kit: Kit, notebooks: bool = False) -> dict[str, str]:
    """Update a learner's folder to this version's stubs and names, and keep the learner's work.

    Args:
        kit: The kit of the folder.
        notebooks: Whether to add missing notebooks.

    Returns:
        What was done, by exercise: ``new`` (its file was missing), ``renewed`` (an unedited stub
        was replaced), ``renamed``, or ``kept`` (the learner had edited it).

    Raises:
        GradeError: The folder is not a learner's, has a link that leads out, or cannot be written.
    """
    if not kit.version:
        raise GradeError(f"`{kit.home}` is not a folder of stubs; `grade init FOLDER` makes one")
    done = {}
    for exercise in kit.exercises:
        refuse_link_out(exercise.file, kit.home)
    with _writing(kit.home):
        for exercise in kit.exercises:
            there = notebook_file(exercise).exists()
            what = _update(exercise, kit.home) or ("new" if notebooks and not there else "")
            if what:
                done[exercise.name] = what
            if not is_notebook_edited(exercise) and (there or notebooks):
                put_notebook(exercise, kit)
        _write_manifest(kit.home, kit)
    return done


def _update(exercise: Exercise, home: Path) -> str:
    """Update one exercise; return what was done, as ``update_folder`` does, or an empty text."""
    for old in exercise.formerly:
        for notebook in (home / "exercises").glob(f"*/{old}.ipynb"):
            if not notebook_file(exercise).exists():
                refuse_link_out(notebook, home)
                notebook.rename(notebook_file(exercise))
        for file in (home / "exercises").glob(f"*/{old}.py"):
            if not exercise.file.exists():
                refuse_link_out(file, home)
                exercise.file.parent.mkdir(parents=True, exist_ok=True)
                file.rename(exercise.file)
                return "renamed"
    if not exercise.file.exists():
        _write(exercise.file, shipped_stub(exercise))
        return "new"
    if exercise.given_digest == exercise.digest:
        return ""
    if is_edited(exercise):
        return "kept"
    _write(exercise.file, shipped_stub(exercise))
    return "renewed"


def close_interview(kit: Kit) -> None:
    """Turn an interview's folder into one to practise in."""
    with _writing(kit.home):
        _write_manifest(kit.home, replace(kit, interview=False))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise GradeError(f"`{folder}` cannot be written: {error.strerror}") from None


def _write(file: Path, source: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(source)


def _write_manifest(home: Path, kit: Kit) -> None:
    """Write the manifest of a learner's folder."""
    manifest = home / "exercises" / MANIFEST
    refuse_link_out(manifest, home)
    manifest.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        "# A learner's folder: the stubs are here, all else is in the installed kit.",
        "[kit]",
        f'stubs_of = "{kit.name}"',
        f'version = "{__version__}"',
        *([f"only = {json.dumps(kit.only)}"] if kit.only else []),
        *(["interview = true"] if kit.interview else []),
        *([f'explain = "{kit.explain}"'] if kit.explain is not Explain.CAUSE else []),
        "",
        "[stubs]",
        *(f'{exercise.name} = "{exercise.digest}"' for exercise in kit.exercises),
    ]
    manifest.write_text("\n".join(lines) + "\n", encoding="utf-8")
