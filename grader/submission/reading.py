"""Read a .py or .ipynb file as a Submission, with care: it is never imported or compiled."""

from __future__ import annotations

import codecs
import os
import re
import stat
from functools import partial
from pathlib import Path, PurePath

import msgspec

from grader.errors import GradeError
from grader.submission.notebook.cells import join_cells, read_cells, too_much_code
from grader.submission.source import MAX_SOURCE_BYTES, Submission
from grader.wire.plain import with_newlines

ENCODING_DECLARATION = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # PEP 263
# Prefixes of the encodings that are decoded in one pass; others may take any amount of time.
ENCODING_PREFIXES = (
    *("utf-8", "ascii", "iso8859", "cp", "koi8", "mac-", "gb", "big5", "shift_jis", "euc_", "tis"),
)
MAX_NOTEBOOK_BYTES = 64 << 20  # a notebook's outputs hold pictures
MAX_ENCODING_CHARS = 40  # of the name of an encoding, as a message shows it
LARGE_NOTEBOOK_BYTES = 1 << 20  # above which a notebook is read in a process of its own


def read_submission(path: Path) -> Submission:
    """Read a submission's source, in UTF-8 or in the encoding that its first lines declare.

    A notebook's magics, shell lines and calls for help are left out, line by line.

    Raises:
        GradeError: The file does not exist, is not a regular file, is too large or not in its
            encoding; or it is named as a notebook, but is none or has no code.
    """
    return submission_of(path, without_outputs(path, read_bounded(path, max_bytes_of(path))))


def max_bytes_of(path: PurePath) -> int:
    """Return how many bytes a file with this name may have."""
    return MAX_NOTEBOOK_BYTES if path.suffix.lower() == ".ipynb" else MAX_SOURCE_BYTES


def without_outputs(path: PurePath, data: bytes) -> bytes:
    """Return a large notebook with its code cells alone; any other file unchanged.

    Raises:
        GradeError: The file is too large, is not a notebook although its name says so, or takes too
            much time or memory to read.
    """
    _check_size(path, data)
    if path.suffix.lower() != ".ipynb" or len(data) <= LARGE_NOTEBOOK_BYTES:
        return data
    from grader.submission.bounded import run_bounded

    cells = run_bounded(path.name, partial(read_cells, data, path), list[str])
    code = [{"cell_type": "code", "source": cell} for cell in cells]
    return msgspec.json.encode({"nbformat": 4, "cells": code})


def submission_of(path: Path, data: bytes) -> Submission:
    """Return the submission in a file's bytes.

    Raises:
        GradeError: There are too many bytes, they are not in their encoding, or they are not a
            notebook although the name says so.
    """
    _check_size(path, data)
    if path.suffix.lower() != ".ipynb":
        return Submission(path, with_newlines(_decoded(path, data)))
    source, cells = join_cells(read_cells(data, path))
    if len(source.encode()) > MAX_SOURCE_BYTES:
        raise too_much_code(path)
    return Submission(path, source, cells)


def read_bounded(path: Path, most: int, instead: str = "name the Python file to grade") -> bytes:
    """Read a file, but at most one byte more than ``most``, which shows that it is too large.

    Args:
        path: The file.
        most: The number of bytes.
        instead: What to do instead, for the error.

    Raises:
        GradeError: The file cannot be read, or is not a regular one, which might never end.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise GradeError(f"`{path}` cannot be read: {_reason(error)}") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise GradeError(f"`{path}` is {kind}; {instead}")
    try:
        with os.fdopen(descriptor, "rb") as file:
            return file.read(most + 1) or b""  # None where the kernel has nothing to tell yet
    except OSError as error:  # the kernel makes the file up, as it does in /proc
        why = _reason(error)
        raise GradeError(f"`{path}` cannot be read: {why}; {instead}") from None


def read_whole(path: Path, most: int, instead: str) -> bytes:
    """Read a file of at most ``most`` bytes.

    Raises:
        GradeError: The file cannot be read, is not a regular one, or is larger; the error says
            what to do ``instead``.
    """
    data = read_bounded(path, most, instead)
    if len(data) > most:
        raise GradeError(f"`{path}` is larger than {most >> 10:,} KiB; {instead}")
    return data


def _check_size(path: PurePath, data: bytes) -> None:
    most = max_bytes_of(path)
    if len(data) <= most:
        return
    if most == MAX_SOURCE_BYTES:
        short, size = "a submission is a short Python file", f"{most >> 10} KiB"
    else:
        short, size = "clear its outputs", f"{most >> 20} MiB"
    raise GradeError(f"`{path}` is larger than {size}; {short}")


def _decoded(path: Path, data: bytes) -> str:
    encoding = "utf-8-sig" if path.suffix.lower() == ".ipynb" else _declared(path, data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if not encoding.startswith("utf-8"):
            raise GradeError(
                f"`{path}` declares the encoding `{encoding}` and is not in it; save it as UTF-8"
            ) from None
        raise GradeError(
            f"`{path}` is not UTF-8 (byte {error.start} is 0x{data[error.start]:02x}); "
            "save it as UTF-8"
        ) from None


def _declared(path: Path, data: bytes) -> str:
    """Return the encoding that the first two lines of a Python file declare; UTF-8 if none."""
    lines = data.removeprefix(codecs.BOM_UTF8).splitlines()[:2]
    if lines and not lines[0].lstrip().startswith(b"#") and lines[0].strip():
        return "utf-8-sig"  # a declaration may stand only below comments or blank lines
    named = next(
        (found[1].decode() for line in lines if (found := ENCODING_DECLARATION.match(line))),
        "utf-8",
    )
    try:
        name = codecs.lookup(named).name
    except LookupError:
        name = ""
    if not name.startswith(ENCODING_PREFIXES):
        shown = named[:MAX_ENCODING_CHARS]
        raise GradeError(f"`{path}` declares the encoding `{shown}`; save it as UTF-8")
    return "utf-8-sig" if name == "utf-8" else name


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[0].lower() + reason[1:]
