"""Writing a batch's files: whole or not at all, each in its place, and deleted when stale."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from grader.errors import GradeError

MAX_NAME_BYTES = 80  # of a candidate's name, in UTF-8: a file's name has 255 at most
DIGEST_DIGITS = 16  # hexadecimal; with half as many, hours find a name that shares another's file


def safe_name(name: str) -> str:
    """Return a file name for a candidate's name: no two share one, and none leads elsewhere.

    None begins with a dash either, which commands take for an option.
    """
    whole = re.sub(r"[^\w.-]+", "_", name).strip("._-")
    plain = whole.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    ends_like_ours = re.search(rf"-[0-9a-f]{{{DIGEST_DIGITS}}}$", plain)
    if plain and plain == name == name.casefold() and not ends_like_ours:
        return plain
    return f"{plain or 'candidate'}-{hashlib.sha256(name.encode()).hexdigest()[:DIGEST_DIGITS]}"


def write_parts(path: Path, parts: Iterable[str]) -> Path:
    """Write a file, whole or not at all, and return its path.

    Raises:
        GradeError: The file cannot be written.
    """
    draft = path.with_name(path.name + ".draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8", newline="") as file:
            file.writelines(parts)
        draft.replace(path)
    except OSError as error:
        raise GradeError(f"`{path}` cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return path


def delete_stale(folder: Path, files: str, names: Collection[str]) -> None:
    """Delete what was written for candidates not among ``names``, and nothing that is not ours."""
    for stale in [path for path in folder.glob("*") if path.name not in names]:
        for file in stale.glob(files):
            file.unlink()
            if file.parent != stale:
                file.parent.rmdir()
        with contextlib.suppress(OSError):  # the folder has files that are not ours
            stale.rmdir()
