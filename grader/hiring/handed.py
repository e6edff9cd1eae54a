"""Reading the files that one candidate handed in, without writing any of them to disk."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

import msgspec

from grader.errors import GradeError
from grader.hiring.archives import archive_contents
from grader.hiring.choosing import HandedFile, choose_files, is_chosen_by_name
from grader.hiring.files import (
    Contents,
    archive_ending,
    folder_contents,
    is_folder,
    is_source_file,
    read_file,
)
from grader.outputs.sanitise import show_invisible
from grader.submission import Submission, escape_undecodable, submission_of

MAX_KEPT_BYTES = 64 << 10  # of a file that stays in memory while others are graded
MAX_TEXT_CHARS = 5000  # of a file's name, or of a message about it
# The exercises that were sent; what a file of each defines; the source of each as it was sent.
SentExercises = tuple[Sequence[str], Mapping[str, Sequence[str]], Mapping[str, str]]
_BoundedText = Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARS)]


def as_submission(exercise: str, file: str, data: bytes, problem: str = "") -> Submission:
    """Return what was handed in as a submission, which has a ``problem`` if it cannot be read."""
    path = Path(file or f"{exercise}.py")
    if problem:
        return Submission(path, "", problem=problem)
    try:
        return submission_of(path, data)
    except GradeError as error:
        return Submission(path, "", problem=str(error))


def find_files(folder: Path, entries: Sequence[Path], sent: SentExercises) -> dict[str, HandedFile]:
    """Return what was handed in for each exercise.

    Archives are read in a process with limits, and so are files that have to be chosen by what they
    hold, since their syntax trees can be of any size.
    """
    first = entries[0]
    try:
        is_archive = archive_ending(first.name) and not is_folder(first) and len(entries) == 1
        contents = None if is_archive else _contents_of(folder, entries)
        if contents is not None and is_chosen_by_name(contents, *sent[:2]):
            return choose_files(contents, *sent)
        from grader.submission.bounded import run_bounded

        count = len(sent[0])
        gives: Any = Annotated[list[_ReadFile], msgspec.Meta(min_length=count, max_length=count)]
        reading = partial(_read_chosen, folder, entries, sent)
        own = [entry for entry in entries if not entry.is_symlink()]
        read = partial(run_bounded, first.name, reading, gives, own)
        kept = [_as_handed_file(place, one, read) for place, one in enumerate(read())]
        return dict(zip(sent[0], kept, strict=True))
    except (GradeError, OSError) as error:
        problem = f"it cannot be read: {error}" if isinstance(error, OSError) else str(error)
        handed = HandedFile(
            escape_undecodable(first.name), bytes, show_invisible(escape_undecodable(problem))
        )
        return dict.fromkeys(sent[0], handed)


class _ReadFile(NamedTuple):
    """A file that was handed in, once it was read: its bytes, or why there are none."""

    name: _BoundedText
    data: bytes
    problem: _BoundedText
    note: _BoundedText


def _read_chosen(folder: Path, entries: Sequence[Path], sent: SentExercises) -> list[_ReadFile]:
    """Choose and read the file for each exercise."""
    chosen = choose_files(_contents_of(folder, entries), *sent)
    found = []
    for handed in (chosen[exercise] for exercise in sent[0]):
        data, problem = handed.read_or_explain()
        told = (
            show_invisible(escape_undecodable(text))[:MAX_TEXT_CHARS]
            for text in (problem, handed.note)
        )
        found.append(_ReadFile(handed.name[-MAX_TEXT_CHARS:], data, *told))  # with its ending
    return found


def _as_handed_file(
    place: int, found: _ReadFile, read: Callable[[], list[_ReadFile]]
) -> HandedFile:
    """Return a read file as a ``HandedFile``, which reads a large one again when it is graded.

    So that memory does not fill up, only small files keep their bytes until then. ``read`` reads
    all files of the candidate once more, with this one in the same place.
    """
    if len(found.data) > MAX_KEPT_BYTES:
        return HandedFile(found.name, lambda: read()[place].data, found.problem, found.note)
    return HandedFile(found.name, lambda: found.data, found.problem, found.note)


def _contents_of(folder: Path, entries: Sequence[Path]) -> Contents:
    """Return what a folder, an archive or a file holds, or several such entries of one person."""
    entry, *more = entries
    if more:
        return folder_contents(folder, entries)
    if entry.is_symlink():
        raise GradeError(f"`{entry.name}` is a link; hand in the file itself")
    if entry.is_dir():
        return folder_contents(entry)
    if archive_ending(entry.name):
        if not stat.S_ISREG(entry.lstat().st_mode):
            raise GradeError("it is not a regular file")
        return archive_contents(entry.name, lambda: entry.open("rb"))
    if not is_source_file(entry.name):
        raise GradeError(f"`{entry.name}` is not a folder, zip, tar, .py or .ipynb")
    found = Contents()
    found.add(PurePosixPath(entry.name), partial(read_file, entry))
    return found
