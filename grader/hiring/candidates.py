"""What was handed in -> candidates and their files, without writing any of it to disk."""

from __future__ import annotations

import csv
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from grader.errors import GradeError
from grader.submission import Submission, most_bytes, readable, submission_of

KINDS = (".py", ".ipynb")
MAX_ENTRIES = 10_000  # of one archive or folder
MAX_ARCHIVE = 256 << 20  # bytes on disk
MAX_DIRECTORY = 512 * MAX_ENTRIES  # bytes of an archive's directory, which is read as a whole
DEPTH = 8  # of folders within folders
# Others unpack a block as a whole: from a thousand bytes come gigabytes, whatever was asked for.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
IGNORED = {"__MACOSX", "__pycache__", "venv", "node_modules", "site-packages"}


@dataclass(frozen=True)
class Handed:
    """A file that a candidate handed in for one exercise.

    Attributes:
        name: The file within what was handed in, as a POSIX path; empty where there is none.
        read: Gives its bytes; raises ``GradeError`` where it cannot be read.
        problem: Why there is no file to grade; empty where there is.
    """

    name: str
    read: Callable[[], bytes]
    problem: str = ""


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


Files = dict[PurePosixPath, Callable[[], bytes]]


def find_candidates(
    folder: Path,
    exercises: Sequence[str],
    names: Mapping[str, str] | None = None,
    results: Path | None = None,
) -> list[Candidate]:
    """The candidates of a folder: in it, a folder, a zip, a ``.py`` or a ``.ipynb`` for each.

    A file belongs to an exercise by its name, ``exercise3.py``, wherever it lies; where only one
    exercise was sent, a candidate's only file is it, whatever it is called.

    Args:
        folder: What was handed in.
        exercises: That were sent.
        names: Of candidates, by the files in the folder.
        results: Where results go; no candidate, should it lie in the folder too.

    Raises:
        GradeError: The folder holds no candidate, or two of one name.
    """
    if not folder.is_dir():
        raise GradeError(f"`{folder}` is no folder; name the one with a file for each candidate")
    entries = sorted(entry for entry in folder.iterdir() if not _ignored(entry.name))
    found: dict[str, Candidate] = {}
    for entry in entries:
        if not (entry.is_dir() or entry.suffix.lower() in (*KINDS, ".zip")):
            continue
        if results is not None and entry.resolve() == results.resolve():
            continue
        own = readable(entry.name if entry.is_dir() else entry.stem)
        name = (names or {}).get(readable(entry.name), own)
        if name in found:
            raise GradeError(
                f"two candidates in `{folder}` are called `{name}`; rename one, or give both "
                "names in a CSV file with the columns file,name: --names FILE"
            )
        found[name] = Candidate(name, _handed(entry, exercises), readable(entry.name))
    if not found:
        raise GradeError(f"`{folder}` holds no folder, zip, .py or .ipynb of a candidate")
    return list(found.values())


def as_submission(exercise: str, file: str, data: bytes, problem: str = "") -> Submission:
    """What was handed in, to be graded; what cannot be read is a file that cannot be tried."""
    path = Path(file or f"{exercise}.py")
    if problem:
        return Submission(path, "", problem=problem)
    try:
        return submission_of(path, data)
    except GradeError as error:
        return Submission(path, "", problem=str(error))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in IGNORED


def read_names(path: Path) -> dict[str, str]:
    """The names of candidates by their files, from a CSV file with the columns ``file,name``.

    Raises:
        GradeError: It is no such file, or a name is empty.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
            names = {row["file"].strip(): row["name"].strip() for row in rows}
    except OSError as error:
        raise GradeError(f"`{path}` cannot be read: {error.strerror}") from None
    except (KeyError, AttributeError, UnicodeDecodeError, csv.Error):
        raise GradeError(
            f"`{path}` is no CSV file with the columns `file` and `name`, in UTF-8"
        ) from None
    for key, name in names.items():
        if not name:
            raise GradeError(f"`{path}` gives `{key}` an empty name; write one, or leave it out")
    return names


def _handed(entry: Path, exercises: Sequence[str]) -> dict[str, Handed]:
    try:
        files = _files(entry)
    except (GradeError, OSError) as error:
        problem = f"it cannot be read: {error}" if isinstance(error, OSError) else str(error)
        problem = readable(problem)
        return {name: Handed("", bytes, problem) for name in exercises}
    return {name: _choose(files, name, single=len(exercises) == 1) for name in exercises}


def _choose(files: Files, exercise: str, single: bool) -> Handed:
    """The file of an exercise: by its name, the nearest to the top."""
    fitting = [path for path in files if path.stem == exercise]
    if not fitting and single:
        fitting = [path for path in files if not path.name.startswith("test_")]
        if len(fitting) > 1:
            return Handed("", bytes, f"none of its {len(fitting)} files is `{exercise}.py`")
    if not fitting:
        return Handed("", bytes, f"`{exercise}.py` was not handed in")
    fitting.sort(key=lambda path: (len(path.parts), path))
    first = fitting[0]
    if len(fitting) > 1 and len(fitting[1].parts) == len(first.parts):
        return Handed("", bytes, readable(f"`{first}` and `{fitting[1]}` both claim to be it"))
    return Handed(readable(str(first)), files[first])


def _files(entry: Path) -> Files:
    """The Python files and notebooks of a candidate, by their path within what was handed in."""
    if entry.is_symlink():
        raise GradeError(f"`{entry.name}` is a link; hand in the file itself")
    if entry.is_dir():
        return dict(_in_folder(entry))
    if entry.suffix.lower() == ".zip":
        return _in_archive(entry)
    return {PurePosixPath(entry.name): partial(_read, entry)}


def _in_folder(folder: Path) -> Iterator[tuple[PurePosixPath, Callable[[], bytes]]]:
    """A folder's files; links are passed over, wherever they point."""
    count = 0
    waiting = [folder]
    while waiting:
        for entry in sorted(waiting.pop().iterdir()):
            count += 1
            if count > MAX_ENTRIES:
                raise GradeError(f"it holds more than {MAX_ENTRIES} files")
            path = entry.relative_to(folder)
            if entry.is_symlink() or _ignored(entry.name) or len(path.parts) > DEPTH:
                continue
            if entry.is_dir():
                waiting.append(entry)
            elif entry.suffix.lower() in KINDS:
                yield PurePosixPath(path.as_posix()), partial(_read, entry)


def _read(path: Path) -> bytes:
    """A file's bytes; one more than may be, at most."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise GradeError("it is no regular file")
        with path.open("rb") as file:
            return file.read(most_bytes(path) + 1)
    except OSError as error:
        raise GradeError(f"it cannot be read: {error.strerror}") from None


def _in_archive(path: Path) -> Files:
    """The files of a zip, by the directory at its end; nothing of it is unpacked here."""
    try:
        if path.stat().st_size > MAX_ARCHIVE:
            raise GradeError(f"`{path.name}` is larger than {MAX_ARCHIVE >> 20} MiB")
        if _directory_size(path) > MAX_DIRECTORY:
            raise GradeError(f"`{path.name}` holds more than {MAX_ENTRIES} files")
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except GradeError:
        raise
    except Exception as error:  # bytes that were made to break a parser may break it in any way
        raise GradeError(f"`{path.name}` is no zip that can be read: {error}") from None
    if len(members) > MAX_ENTRIES:
        raise GradeError(f"`{path.name}` holds more than {MAX_ENTRIES} files")
    found: Files = {}
    for member in members:
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if _passed_over(member, name):
            continue
        if name in found:
            raise GradeError(f"`{path.name}` holds `{name}` twice")
        found[name] = partial(_extract, path, member.filename, most_bytes(name))
    return found


def _directory_size(path: Path) -> int:
    """How many bytes ``ZipFile`` would read as the directory, and make objects of."""
    with path.open("rb") as file:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # there is no public way
    return int(end[zipfile._ECD_SIZE]) if end else 0  # type: ignore[attr-defined]  # nor here


def _passed_over(member: zipfile.ZipInfo, name: PurePosixPath) -> bool:
    """Whether a member is a folder, a link, outside of the archive or of no interest."""
    mode = member.external_attr >> 16
    return (
        member.is_dir()
        or (mode != 0 and stat.S_IFMT(mode) not in (0, stat.S_IFREG))
        or name.is_absolute()
        or ".." in name.parts
        or len(name.parts) > DEPTH
        or any(map(_ignored, name.parts))
        or name.suffix.lower() not in KINDS
    )


def _extract(path: Path, name: str, most: int) -> bytes:
    """A member's bytes, one more than may be at most, whatever its header says of its size."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).compress_type not in METHODS:
                raise GradeError(f"`{name}` is compressed by no usual method; use deflate")
            with archive.open(name) as member:
                return member.read(most + 1)
    except GradeError:
        raise
    except Exception as error:  # damaged, encrypted, or made to break the parser in any way
        raise GradeError(f"`{name}` cannot be taken out of its zip: {error}") from None
