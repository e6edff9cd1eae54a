"""The stubs as shipped, and one put back where a learner has edited it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path

from grader.errors import GradeError
from grader.kit.manifest import Exercise, Kit


def digest(source: bytes) -> str:
    """What a manifest knows a stub by: the first 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(source).hexdigest()[:16]


def digest_of(kit: Kit) -> str:
    """One for the suites and rules of a kit: the same for kits that judge alike."""
    judged_by = [
        (
            *(e.name, e.entry_points, sorted(e.forbidden), e.operations),
            *(sorted(e.imports), e.diagnosis, _suite(e)),
        )
        for e in kit.exercises
    ]
    return digest(repr(judged_by).encode())


def _suite(exercise: Exercise) -> bytes:
    return exercise.suite.read_bytes() if exercise.suite.is_file() else b""


def is_edited(exercise: Exercise) -> bool:
    """Whether the learner's file is no longer the stub as shipped."""
    if not exercise.file.is_file():
        return False
    return digest(exercise.file.read_bytes()) not in exercise.stubs


def own_path(exercise: Exercise, file: Path | None = None) -> Path:
    """The learner's file, or another, from the working directory if it lies below."""
    return from_here(exercise.file if file is None else file)


def from_here(path: Path) -> Path:
    """A path from the working directory, if it lies below."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def own_file(exercise: Exercise, kit: Kit) -> Path:
    """The learner's file, to be graded; from the working directory if it lies below.

    Raises:
        GradeError: The kit has no folder that a learner edits, or the file is missing.
    """
    if not kit.own_stubs:
        raise GradeError(
            f"there is no folder of stubs here, so no `{exercise.name}`; "
            "`grade init drills` makes one, `grade EXERCISE FILE` grades any file"
        )
    if not exercise.file.exists():
        raise GradeError(
            f"`{exercise.file}` is missing; `grade reset {exercise.name}` puts the stub back"
        )
    return own_path(exercise)


def pristine(exercise: Exercise) -> bytes:
    """The stub as shipped; in a checkout where it was edited, out of git's history.

    Raises:
        GradeError: It is nowhere to be found.
    """
    for source in chain((_on_disk(exercise),), _in_history(exercise.stub)):
        if digest(source) == exercise.digest:
            return source
    raise GradeError(
        f"the stub of `{exercise.name}` as shipped is neither in `{exercise.stub}` nor in git's "
        "history; reinstall `attention-drills` and use `grade init FOLDER`"
    )


def _on_disk(exercise: Exercise) -> bytes:
    return exercise.stub.read_bytes() if exercise.stub.is_file() else b""


def _in_history(path: Path) -> Iterator[bytes]:
    commits = _git(path, "log", "--format=%H", "--", path.name).decode().split()
    for commit in commits:
        yield _git(path, "show", f"{commit}:./{path.name}")


def _git(path: Path, *words: str) -> bytes:
    """Git's output, or nothing where there is no git or no repository."""
    import subprocess

    if not path.parent.is_dir():
        return b""
    try:
        return subprocess.run(
            ["git", *words], cwd=path.parent, capture_output=True, check=False
        ).stdout
    except OSError:
        return b""


def put_back(exercise: Exercise, kit: Kit) -> Path | None:
    """Put the stub back in the learner's folder.

    Returns:
        Where the file that was replaced is kept; None where there was nothing to keep.

    Raises:
        GradeError: The kit has no folder that a learner edits, or the stub is not to be found.
    """
    if not kit.own_stubs:
        raise GradeError("there is no folder of stubs here; `grade init FOLDER` makes one")
    return replace_file(exercise.file, pristine(exercise), kit, lambda: is_edited(exercise))


def replace_file(file: Path, data: bytes, kit: Kit, is_worth_it: Callable[[], bool]) -> Path | None:
    """Write a file whole or not at all.

    Args:
        file: A learner's.
        data: What is to be in it.
        kit: In whose folder it lies.
        is_worth_it: Whether what is there is to be kept.

    Returns:
        Where it is kept, if it is.

    Raises:
        GradeError: It cannot be written.
    """
    kept = None
    draft = file.with_suffix(".draft")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)
        if is_worth_it():
            kept = _keep(file, kit)
        draft.replace(file)
    except OSError as error:
        raise GradeError(
            f"`{file}` cannot be written: {error.strerror}; nothing of yours is lost"
        ) from None
    return kept


def _keep(file: Path, kit: Kit) -> Path:
    """Move a learner's file aside; where it is now.

    Raises:
        OSError: It cannot be moved.
    """
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")
    kept = kit.home / ".grade" / "replaced" / f"{file.stem}-{stamp}{file.suffix}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    return file.rename(kept)
