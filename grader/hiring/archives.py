"""Reading the files of a zip or tar without unpacking any of it to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from grader.errors import GradeError
from grader.hiring.files import (
    MAX_ENTRIES,
    MAX_NESTED_ARCHIVE_BYTES,
    Contents,
    Reader,
    archive_ending,
    bytes_to_read,
    is_passed_over,
)

DECOMPRESSORS: dict[str, Callable[[BinaryIO], Any]] = {
    ".tar": lambda file: file,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}
MAX_ARCHIVE_BYTES = 256 << 20  # on disk
MAX_UNPACKED_BYTES = 128 << 20  # of a tar
MAX_DIRECTORY_BYTES = 512 * MAX_ENTRIES  # an archive's directory is read as a whole
MAX_NESTED_ARCHIVES = 10  # that are opened among a candidate's files
# Other methods unpack whole blocks: from a thousand bytes come gigabytes, however few are wanted.
ALLOWED_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def archive_contents(name: str, open_archive: Callable[[], BinaryIO]) -> Contents:
    """Return the files of an archive.

    Args:
        name: The archive's name, whose ending tells its format.
        open_archive: Opens the archive; called each time that something is read from it.

    Raises:
        GradeError: The archive is damaged, or holds too much.
    """
    ending = archive_ending(name)
    kind = "zip" if ending == ".zip" else "tar"
    try:
        with open_archive() as file:
            if file.seek(0, io.SEEK_END) > MAX_ARCHIVE_BYTES:
                raise GradeError(f"`{name}` is larger than {MAX_ARCHIVE_BYTES >> 20} MiB")
            file.seek(0)
            found = (
                _zip_contents(name, open_archive) if kind == "zip" else _tar_contents(file, ending)
            )
    except GradeError as error:
        if str(error).startswith("it holds"):
            raise GradeError(f"`{name}` {str(error).removeprefix('it ')}") from None
        raise
    except MemoryError:
        raise
    except Exception as error:  # bytes that were made to break a parser may break it in any way
        raise GradeError(f"`{name}` is no {kind} that can be read: {error}") from None
    return found


def nested_contents(contents: Contents) -> Contents:
    """Return the files of nested archives, by path; why others cannot be read is told.

    Archives inside these archives are not opened.
    """
    found = Contents()
    for count, (path, read) in enumerate(contents.archives.items()):
        try:
            if count >= MAX_NESTED_ARCHIVES:
                raise GradeError(f"`{path}` is one archive of too many")
            inner = archive_contents(path.name, partial(_open_in_memory, path.name, read))
        except GradeError as error:
            found.damaged[path] = str(error)
            continue
        for name, inner_read in inner.files.items():
            found.files[path / name] = inner_read
    return found


def _open_in_memory(name: str, read: Reader) -> BinaryIO:
    data = read()
    if len(data) > MAX_NESTED_ARCHIVE_BYTES:
        raise GradeError(f"`{name}` is larger than {MAX_NESTED_ARCHIVE_BYTES >> 20} MiB")
    return io.BytesIO(data)


def _zip_contents(name: str, open_archive: Callable[[], BinaryIO]) -> Contents:
    """Return the files of a zip, by the directory at its end; nothing is unpacked yet."""
    found = Contents()
    with open_archive() as file:
        if _directory_size(file) > MAX_DIRECTORY_BYTES:
            raise GradeError(f"it holds more than {MAX_ENTRIES} files")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    if len(members) > MAX_ENTRIES:
        raise GradeError(f"it holds more than {MAX_ENTRIES} files")
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        mode = member.external_attr >> 16
        odd = mode != 0 and stat.S_IFMT(mode) not in (0, stat.S_IFREG)
        if not (member.is_dir() or odd or is_passed_over(path)):
            found.add(path, partial(_read_zip_member, open_archive, member.filename))
    return found


def _directory_size(file: BinaryIO) -> int:
    """Return how many bytes ``ZipFile`` would read as the directory, and make objects of."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # there is no public way
    return int(end[zipfile._ECD_SIZE]) if end else 0  # type: ignore[attr-defined]  # nor here


def _read_zip_member(open_archive: Callable[[], BinaryIO], name: str, max_bytes: int) -> bytes:
    """Read at most ``max_bytes`` of a member, whatever its header says of its size."""
    try:
        with open_archive() as file, zipfile.ZipFile(file) as archive:
            if archive.getinfo(name).compress_type not in ALLOWED_ZIP_METHODS:
                raise GradeError(f"`{name}` is compressed in an unusual way; use deflate")
            with archive.open(name) as member:
                return member.read(max_bytes)
    except (GradeError, MemoryError):
        raise
    except Exception as error:  # damaged, encrypted, or made to break the parser in any way
        raise GradeError(f"`{name}` cannot be taken out of its zip: {error}") from None


class _BoundedReader(io.RawIOBase):
    """A reader of a tar's unpacked bytes, which raises once they exceed ``MAX_UNPACKED_BYTES``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MAX_UNPACKED_BYTES

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._left:
            raise GradeError(f"it holds more than {MAX_UNPACKED_BYTES >> 20} MiB")
        self._left -= size
        return self._file.read(size)


def _tar_members(file: BinaryIO, ending: str) -> Iterator[tuple[PurePosixPath, BinaryIO]]:
    """Yield the regular files of a tar; each has to be read before the next is asked for."""
    with tarfile.open(fileobj=_BoundedReader(DECOMPRESSORS[ending](file)), mode="r|") as archive:
        for count, member in enumerate(archive):
            if count >= MAX_ENTRIES:
                raise GradeError(f"it holds more than {MAX_ENTRIES} files")
            path = PurePosixPath(member.name)
            if member.isreg() and not member.issparse() and not is_passed_over(path):
                opened = archive.extractfile(member)
                assert opened is not None
                yield path, opened  # type: ignore[misc]  # it reads bytes


def _tar_contents(file: BinaryIO, ending: str) -> Contents:
    """Read all files of a tar at once, since to find one means to unpack all before it."""
    found = Contents()
    for path, member in _tar_members(file, ending):
        found.add(path, partial(_first_bytes, member.read(bytes_to_read(path))))
    return found


def _first_bytes(data: bytes, max_bytes: int) -> bytes:
    return data[:max_bytes]
