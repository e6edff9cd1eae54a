"""Reading the submissions of earlier batches, with which those of a new one are compared."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from grader.errors import GradeError
from grader.hiring.schema import SCHEMA_VERSION, expect_own_schema
from grader.kit import Exercise
from grader.records import EarlierSubmission
from grader.records.beside import bounded_opening, touches_other_files
from grader.submission import MAX_SOURCE_BYTES

STORE = "results.sqlite"
MAX_TEXT_BYTES = 4 * MAX_SOURCE_BYTES  # of a source in UTF-8, whatever its encoding was
MAX_MEMORY_BYTES = 128 << 20  # of all that is compared with: some 30,000 files
SUBMISSIONS = (
    "SELECT result.candidate, exercise, source, coalesce(name, result.candidate) "
    "FROM result LEFT JOIN candidate ON key = result.candidate WHERE source != ''"
)

# By exercise, then by a key that is no candidate's name.
EarlierSubmissions = Mapping[str, Mapping[str, EarlierSubmission]]


def read_earlier(
    batches: Sequence[Path], exercises: Sequence[Exercise], own: Path
) -> EarlierSubmissions:
    """Return what was handed in for some exercises in earlier batches.

    Args:
        batches: The results of each: its folder, or the store in it.
        exercises: The exercises; a batch may have had one under an earlier name.
        own: The folder with the results of the batch that is compared with them.

    Raises:
        GradeError: A path has no results of another batch, or none of these exercises; or all
            together hold too much.
    """
    found: dict[str, dict[str, EarlierSubmission]] = {one.name: {} for one in exercises}
    names = {name: one.name for one in exercises for name in (one.name, *one.formerly)}
    seen, room = {(own / STORE).resolve()}, MAX_MEMORY_BYTES
    for number, batch in enumerate(batches):
        store = batch / STORE if batch.is_dir() else batch
        if store.resolve() in seen:
            raise GradeError(f"`{batch}` is this batch, or named twice; name each earlier one once")
        seen.add(store.resolve())
        before = sum(map(len, found.values()))
        for candidate, exercise, one in _submissions(store, str(batch)):
            key = f"\0{number}\0{candidate}"
            if exercise not in names or key in found[names[exercise]]:  # one file has many seeds
                continue
            room -= sum(map(sys.getsizeof, (key, one, one.name, one.source)))
            if room < 0:
                raise GradeError(
                    f"`{batch}` can be compared with only in part: more than "
                    f"{MAX_MEMORY_BYTES >> 20} MiB of files are named by --against; name fewer"
                )
            found[names[exercise]][key] = one
        if sum(map(len, found.values())) == before:
            asked = ", ".join(f"`{one.name}`" for one in exercises)
            raise GradeError(f"`{batch}` has no file of {asked}: leave it out of --against")
    return found


def _submissions(store: Path, batch: str) -> Iterator[tuple[str, str, EarlierSubmission]]:
    """Yield the candidate's key, the exercise and the submission of each file of a batch."""
    if not store.is_file():
        raise GradeError(
            f"`{batch}` has no results of a batch: name the folder that an earlier one was "
            f"written to (--out), or the `{STORE}` in it"
        )
    try:
        if touches_other_files(store):
            raise sqlite3.DatabaseError("it would change another file")
        address = f"{store.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            with bounded_opening(connection):
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version != SCHEMA_VERSION:
                    raise sqlite3.DatabaseError("it is of another version of `attention-drills`")
                expect_own_schema(connection)
                (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if sound != "ok":  # a page that is met again and again has rows without end
                    raise sqlite3.DatabaseError("it is damaged")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)
            for candidate, exercise, source, name in connection.execute(SUBMISSIONS):
                yield candidate, exercise, EarlierSubmission(str(name), batch, str(source))
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise GradeError(
            f"`{batch}` cannot be compared with: {error}; grade it anew, or leave it out of "
            "--against"
        ) from None
