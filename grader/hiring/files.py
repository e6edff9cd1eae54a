"""The files that somebody handed in; none of their paths leads outside."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from grader.errors import GradeError
from grader.submission import max_bytes_of, without_outputs

SOURCE_ENDINGS = (".py", ".ipynb")
ARCHIVE_ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_ENTRIES = 10_000  # entries of one archive or folder
MAX_NESTED_ARCHIVE_BYTES = 32 << 20  # of an archive within another, which is held in memory
MAX_PATH_PARTS = 8  # a file that is deeper is passed over
IGNORED_NAMES = {"__MACOSX", "__pycache__", "venv", "node_modules", "site-packages"}

Reader = Callable[[], bytes]


@dataclass
class Contents:
    """The files that somebody handed in.

    Attributes:
        files: Python files and notebooks, by path; each is read when its function is called.
        archives: Archives among the files, by path; each is read in the same way, up to one byte
            more than is allowed.
        others: The names of all other files.
        damaged: Why archives among the files cannot be read, by path.
    """

    files: dict[PurePosixPath, Reader] = field(default_factory=dict)
    archives: dict[PurePosixPath, Reader] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    damaged: dict[PurePosixPath, str] = field(default_factory=dict)

    def add(self, path: PurePosixPath, read: Callable[[int], bytes]) -> None:
        """Add a file; ``read`` returns at most the given number of its bytes."""
        if path in self.files or path in self.archives:
            raise GradeError(f"it holds `{path}` twice")
        if is_source_file(path.name):
            self.files[path] = lambda: without_outputs(path, read(bytes_to_read(path)))
        elif archive_ending(path.name):
            self.archives[path] = partial(read, bytes_to_read(path))
        else:
            self.others.append(str(path))


def bytes_to_read(path: PurePosixPath) -> int:
    """Return how many bytes of a file to read: one more than allowed, to see if it has too many."""
    if is_source_file(path.name):
        return max_bytes_of(path) + 1
    return MAX_NESTED_ARCHIVE_BYTES + 1 if archive_ending(path.name) else 0


def is_source_file(name: str) -> bool:
    """Return whether a name is that of a Python file or a notebook."""
    return name.lower().endswith(SOURCE_ENDINGS)


def archive_ending(name: str) -> str:
    """Return the ending of a name, if it is that of an archive that can be read; else empty."""
    fitting = [ending for ending in ARCHIVE_ENDINGS if name.lower().endswith(ending)]
    return max(fitting, key=len, default="")


def is_folder(entry: Path) -> bool:
    """Return whether an entry is a folder itself; links are not followed, which may raise."""
    return not entry.is_symlink() and entry.is_dir()


def folder_contents(folder: Path, entries: Iterable[Path] = ()) -> Contents:
    """Return a folder's files; links are passed over, wherever they point.

    Args:
        folder: The folder, from which paths are given.
        entries: The entries of the folder to read; all where empty.

    Raises:
        GradeError: The folder holds too much.
    """
    found, room = Contents(), MAX_ENTRIES
    waiting = [list(entries) or _first_entries(folder, room)]
    room -= len(waiting[0])
    while waiting:
        if room < 0:
            raise GradeError(f"it holds more than {MAX_ENTRIES} files")
        for entry in sorted(waiting.pop()):
            path = PurePosixPath(entry.relative_to(folder).as_posix())
            if entry.is_symlink() or is_passed_over(path):
                continue
            if entry.is_dir():
                waiting.append(_first_entries(entry, room))
                room -= len(waiting[-1])
            else:
                found.add(path, partial(read_file, entry))
    return found


def _first_entries(folder: Path, room: int) -> list[Path]:
    """Return a folder's entries, but at most one more than there is room for."""
    return list(islice(folder.iterdir(), max(room, 0) + 1))


def is_passed_over(path: PurePosixPath) -> bool:
    """Return whether a path leads outside, is too deep, or belongs to what nobody wrote."""
    return (
        path.is_absolute()
        or ".." in path.parts
        or len(path.parts) > MAX_PATH_PARTS
        or any(name.startswith(".") or name in IGNORED_NAMES for name in path.parts)
    )


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read at most ``max_bytes`` of a file.

    Raises:
        GradeError: The file cannot be read, or is no regular file.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise GradeError("it is not a regular file")
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise GradeError(f"it cannot be read: {error.strerror}") from None
