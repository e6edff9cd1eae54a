"""What was handed in -> candidates and their files, without writing any of it to disk."""

from __future__ import annotations

import csv
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.errors import GradeError
from grader.hiring.archives import in_archive
from grader.hiring.choosing import Handed, choose
from grader.hiring.files import Contents, archive_ending, in_folder, is_work, read_file
from grader.outputs.sanitise import told_apart
from grader.submission import Submission, readable, submission_of

MOST_KEPT = 64 << 10  # bytes of a file, while others are graded
# The exercises that were sent; what a file of each defines; the source of each as it was sent.
Sent = tuple[Sequence[str], Mapping[str, Sequence[str]], Mapping[str, str]]
OURS = ("__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini")  # that nobody handed in


@dataclass(frozen=True)
class Candidate:
    """Somebody who handed something in.

    Attributes:
        name: By the folder or the file, or by the list of names.
        handed: By exercise.
        key: What is in the batch's folder, which results are kept by, whatever the name is.
    """

    name: str
    handed: dict[str, Handed]
    key: str


def find_candidates(
    folder: Path,
    exercises: Sequence[str],
    names: Mapping[str, str] | None = None,
    others: Sequence[Path] = (),
    defines: Mapping[str, Sequence[str]] | None = None,
    stubs: Mapping[str, str] | None = None,
) -> list[Candidate]:
    """The candidates of a folder: everything in it is one, also what cannot be read.

    Args:
        folder: What was handed in.
        exercises: That were sent.
        names: Of candidates, by the files in the folder.
        others: What is no candidate, should it lie in the folder too: results, a list of names.
        defines: What a file of each exercise of the kit defines, to know one of another name by.
        stubs: The source of each exercise as it was sent, to know what was changed.

    Raises:
        GradeError: The folder holds no candidate, or two of one name.
    """
    if not folder.is_dir():
        raise GradeError(f"`{folder}` is not a folder; name the one with a file for each candidate")
    left_out = {path.resolve() for path in others}
    entries = sorted(
        entry
        for entry in folder.iterdir()
        if not entry.name.startswith(".")
        and entry.name not in OURS
        and (entry.is_symlink() or entry.resolve() not in left_out)
    )
    found: dict[str, Candidate] = {}
    for entry, name in _called(entries, names or {}):
        if name in found:
            raise GradeError(
                f"two candidates in `{folder}` are called `{name}`; rename one, or give both "
                "names in a CSV file with the columns file,name: --names FILE"
            )
        found[name] = Candidate(
            name, _handed(entry, (exercises, defines or {}, stubs or {})), readable(entry.name)
        )
    if not found:
        raise GradeError(f"`{folder}` holds nothing that a candidate handed in")
    return list(found.values())


def _called(entries: Sequence[Path], names: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Each entry and its name; one that cannot be read takes no other's."""
    taken = {_own_name(entry) for entry in entries if _is_known(entry)}
    for entry in entries:
        own = _own_name(entry)
        if own in taken and not _is_known(entry):
            own = told_apart(readable(entry.name))
        yield entry, names.get(readable(entry.name), own)


def _own_name(entry: Path) -> str:
    ending = "" if entry.is_dir() else archive_ending(entry.name) or entry.suffix
    return told_apart(readable(entry.name[: len(entry.name) - len(ending)]))


def _is_known(entry: Path) -> bool:
    return bool(entry.is_dir() or archive_ending(entry.name) or is_work(entry.name))


def as_submission(exercise: str, file: str, data: bytes, problem: str = "") -> Submission:
    """What was handed in, to be graded; what cannot be read is a file that cannot be tried."""
    path = Path(file or f"{exercise}.py")
    if problem:
        return Submission(path, "", problem=problem)
    try:
        return submission_of(path, data)
    except GradeError as error:
        return Submission(path, "", problem=str(error))


def read_names(path: Path, column: str = "name") -> dict[str, str]:
    """The names of candidates by their files, from a CSV file with the columns ``file,name``.

    Args:
        path: Of the file.
        column: ``name``; or ``id``, which may be missing or empty.

    Raises:
        GradeError: It is no such file, or a name is empty.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
            if column != "name":
                return {row["file"].strip(): (row.get(column) or "").strip() for row in rows}
            names = {row["file"].strip(): row["name"].strip() for row in rows}
    except OSError as error:
        raise GradeError(f"`{path}` cannot be read: {error.strerror}") from None
    except (KeyError, AttributeError, UnicodeDecodeError, csv.Error):
        raise GradeError(
            f"`{path}` is not a CSV file with the columns `file` and `name`, in UTF-8"
        ) from None
    for key, name in names.items():
        if not name:
            raise GradeError(f"`{path}` gives `{key}` an empty name; write one, or leave it out")
    return names


def _handed(entry: Path, sent: Sent) -> dict[str, Handed]:
    """What was handed in for each exercise; archives are read in a process with bounds."""
    try:
        contents = None if archive_ending(entry.name) and not entry.is_dir() else _contents(entry)
        if contents is not None and not contents.archives:
            return choose(contents, *sent)
        from grader.submission.bounded import bounded

        read = partial(bounded, entry.name, partial(_read_all, entry, sent))
        return {name: _kept(name, one, read) for name, one in read().items()}
    except (GradeError, OSError) as error:
        problem = f"it cannot be read: {error}" if isinstance(error, OSError) else str(error)
        handed = Handed(readable(entry.name), bytes, readable(problem))
        return dict.fromkeys(sent[0], handed)


class _Read(NamedTuple):
    """A file that was handed in, once it was read: its bytes, or why there are none."""

    name: str
    data: bytes
    problem: str
    note: str


def _read_all(entry: Path, sent: Sent) -> dict[str, _Read]:
    found = {}
    for exercise, handed in choose(_contents(entry), *sent).items():
        data, problem = handed.take()
        found[exercise] = _Read(handed.name, data, problem, handed.note)
    return found


def _kept(exercise: str, found: _Read, read: Callable[[], dict[str, _Read]]) -> Handed:
    """What was read, until it is graded; what is large is read again then."""
    if len(found.data) > MOST_KEPT:
        return Handed(found.name, lambda: read()[exercise].data, found.problem, found.note)
    return Handed(found.name, lambda: found.data, found.problem, found.note)


def _contents(entry: Path) -> Contents:
    """What there is in a folder, an archive or a single file."""
    if entry.is_symlink():
        raise GradeError(f"`{entry.name}` is a link; hand in the file itself")
    if entry.is_dir():
        return in_folder(entry)
    if archive_ending(entry.name):
        if not stat.S_ISREG(entry.lstat().st_mode):
            raise GradeError("it is not a regular file")
        return in_archive(entry.name, lambda: entry.open("rb"))
    if not is_work(entry.name):
        raise GradeError(f"`{entry.name}` is not a folder, zip, tar, .py or .ipynb")
    found = Contents()
    found.add(PurePosixPath(entry.name), partial(read_file, entry))
    return found
