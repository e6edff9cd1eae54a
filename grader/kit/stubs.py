"""Finds stubs as shipped, and puts one back where a learner has edited it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path

from grader.errors import GradeError
from grader.kit.kits import Exercise, Kit
from grader.submission import MAX_SOURCE_BYTES, read_bounded

REPLACED = Path(".grade") / "replaced"  # in a learner's folder: the files that were replaced


def digest(source: bytes) -> str:
    """Return the digest of a stub in a manifest: the first 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(source).hexdigest()[:16]


def kit_digest(kit: Kit) -> str:
    """Return a digest of a kit's suites and rules: the same for kits that judge alike."""
    judged_by = [
        (
            *(e.name, e.entry_points, sorted(e.forbidden), e.operations),
            *(sorted(e.imports), e.diagnosis, _bytes_of(e.suite)),
        )
        for e in kit.exercises
    ]
    return digest(repr(judged_by).encode())


def _bytes_of(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else b""


def is_edited(exercise: Exercise) -> bool:
    """Return whether the learner's file differs from every version of the stub."""
    if not exercise.file.is_file():
        return False
    return digest(read_bounded(exercise.file, MAX_SOURCE_BYTES)) not in exercise.stub_digests


def relative_to_cwd(path: Path) -> Path:
    """Return a path relative to the working directory, if it lies below; else the path itself."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def own_file(exercise: Exercise, kit: Kit) -> Path:
    """Return the path of the learner's file, to be graded, as ``relative_to_cwd`` gives it.

    Raises:
        GradeError: The kit has no folder that a learner edits, or the file is missing, or a link
            that leads out of that folder.
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
    expect_within(exercise.file, kit)
    return relative_to_cwd(exercise.file)


def expect_within(path: Path, kit: Kit) -> None:
    """Check that a learner's file is no link that leads out of the kit's folder.

    Raises:
        GradeError: It is.
    """
    if _leads_out(path, kit.home):
        raise GradeError(
            f"`{path}` is a link that leads out of `{kit.home}`: it is not read; "
            "`grade EXERCISE FILE` grades the file that you name"
        )


def refuse_link_out(path: Path, home: Path) -> None:
    """Check that no link leads a path that is to be written out of a learner's folder.

    Raises:
        GradeError: One does.
    """
    if _leads_out(path, home):
        raise GradeError(f"`{path}` leads out of `{home}` by a link: remove that link first")


def _leads_out(path: Path, home: Path) -> bool:
    """Return whether a path leads out of a folder; a link in a circle stays where it is."""
    return not real_path(path).is_relative_to(home.resolve())


def real_path(path: Path) -> Path:
    """Return what a path leads to; a link in a circle, which ``resolve`` refuses, to itself."""
    return Path(os.path.realpath(path))


def shipped_stub(exercise: Exercise) -> bytes:
    """Return the stub as shipped; in a checkout where it was edited, out of git's history.

    Raises:
        GradeError: The stub is nowhere to be found.
    """
    for source in chain((_bytes_of(exercise.stub),), _in_history(exercise.stub)):
        if digest(source) == exercise.digest:
            return source
    raise GradeError(
        f"the stub of `{exercise.name}` as shipped is neither in `{exercise.stub}` nor in git's "
        "history; reinstall `attention-drills` and use `grade init FOLDER`"
    )


def _in_history(path: Path) -> Iterator[bytes]:
    commits = _git(path, "log", "--format=%H", "--", path.name).decode().split()
    for commit in commits:
        yield _git(path, "show", f"{commit}:./{path.name}")


def _git(path: Path, *words: str) -> bytes:
    """Return git's output, or nothing where there is no git or no repository."""
    import subprocess

    if not path.parent.is_dir():
        return b""
    try:
        return subprocess.run(
            ["git", *words], cwd=path.parent, capture_output=True, check=False
        ).stdout
    except OSError:
        return b""


def restore_stub(exercise: Exercise, kit: Kit) -> Path | None:
    """Put the stub back in the learner's folder.

    Returns:
        Path at which the replaced file is kept; None where there was nothing to keep.

    Raises:
        GradeError: The kit has no folder that a learner edits, or the stub is not to be found.
    """
    if not kit.own_stubs:
        raise GradeError("there is no folder of stubs here; `grade init FOLDER` makes one")
    return replace_file(exercise.file, shipped_stub(exercise), kit, lambda: is_edited(exercise))


def replace_file(file: Path, data: bytes, kit: Kit, is_worth_it: Callable[[], bool]) -> Path | None:
    """Write a file whole or not at all, and keep the old file if it is worth keeping.

    Args:
        file: A learner's file.
        data: The file's new content.
        kit: The kit in whose folder the file lies.
        is_worth_it: Tells whether the old file is to be kept.

    Returns:
        Path at which the old file is kept; None if it is not.

    Raises:
        GradeError: The file cannot be written, or a link leads out of the kit's folder.
    """
    kept = None
    draft = file.with_suffix(".draft")
    for folder in (file.parent, kit.home / REPLACED):
        refuse_link_out(folder, kit.home)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)  # in a folder from a stranger it may be a link to any file
        draft.write_bytes(data)
        if is_worth_it():
            kept = _move_aside(file, kit)
        draft.replace(file)
    except OSError as error:
        raise GradeError(
            f"`{file}` cannot be written: {error.strerror}; nothing of yours is lost"
        ) from None
    return kept


def _move_aside(file: Path, kit: Kit) -> Path:
    """Move a learner's file aside, and return its new path."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")
    kept = kit.home / REPLACED / f"{file.stem}-{stamp}{file.suffix}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    return file.rename(kept)
