"""The store of a batch's results: an SQLite file that grows by one transaction a grading."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from grader.errors import GradeError, GraderFault
from grader.hiring.batch_records import BatchSettings, GradingResult
from grader.hiring.claim import lock_folder
from grader.hiring.schema import make_or_check
from grader.records import Report
from grader.records.beside import bounded_opening, touches_other_files

# What reading raises where no batch wrote what is read.
DAMAGE_ERRORS = (
    sqlite3.DatabaseError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
LOCK_TIMEOUT_S = 30.0  # for another process that writes
RESULTS_QUERY = (
    "SELECT {} FROM result WHERE candidate = coalesce(:candidate_key, candidate) "
    "ORDER BY candidate, exercise, seed"
)

INODE_FACT = "inode"  # of the file, which nobody can know who made one elsewhere


class BatchStore:
    """The results of one batch; a context manager.

    A result that is in the store stays there, whatever happens to the process or the machine.

    Args:
        path: The path of the file, which is made where it is missing.

    Raises:
        GradeError: The file is damaged, from another version, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            if path.is_symlink() or touches_other_files(path):
                raise sqlite3.DatabaseError("it would change another file")
            self._connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)
            try:
                with bounded_opening(self._connection):
                    make_or_check(self._connection, path)
                if is_new:
                    self.keep(INODE_FACT, str(path.stat().st_ino))
            except BaseException:
                self._connection.close()
                raise
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise self._cannot_be_used(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    @contextmanager
    def locked(self, command: str) -> Iterator[None]:
        """Lock the folder against other batches for a while; they are told that this is at work.

        Raises:
            GradeError: Another batch is at work in the folder.
        """
        with lock_folder(self.path.parent) as is_ours:
            if not is_ours:
                raise GradeError(
                    f"another batch is at work in `{self.path.parent}`: "
                    f"`{self.fact('command')}`; wait for it, or choose another folder with --out"
                )
            self.keep("command", command)
            yield

    def was_begun_here(self) -> bool:
        """Return whether this file was made in its place, and not handed in or copied there."""
        return self.fact(INODE_FACT) == str(self.path.stat().st_ino)

    def is_locked(self) -> bool:
        """Return whether a batch is at work in the folder."""
        with lock_folder(self.path.parent) as is_ours:
            return not is_ours

    def begin_or_resume(self, settings: BatchSettings) -> None:
        """Begin the batch with these settings, or check that it was begun with them.

        Raises:
            GradeError: The batch was begun with other settings.
        """
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO plan VALUES (1, ?)",
                (msgspec.json.encode(settings).decode(),),
            )
        known = self.known_settings()
        for field in BatchSettings.__struct_fields__:
            if getattr(known, field) != getattr(settings, field):
                was = "" if field == "takehome" else f": {getattr(known, field)}"
                raise GradeError(
                    f"`{self.path.parent}` was begun with another `{field}`{was}; go on with "
                    "that, or choose another folder with --out"
                )

    def known_settings(self) -> BatchSettings | None:
        """Return the settings that this batch was begun with; None if it was not begun."""
        with self._reading() as read:
            row = read("SELECT plan FROM plan").fetchone()
            return msgspec.json.decode(row[0], type=BatchSettings) if row else None

    def add(self, result: GradingResult) -> None:
        """Keep a result, in the place of one for the same candidate, exercise and seed.

        Raises:
            GraderFault: The result cannot be written, as on a full disk.
        """
        report = result.report
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO result VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(result.candidate, result.exercise, str(result.seed), result.file),
                    *(report.sha256, report.earned, report.possible),
                    *(msgspec.json.encode(report.to_builtins()).decode(), result.source),
                    *(result.note, result.unread),
                ),
            )

    def done(self) -> dict[tuple[str, str, int], str]:
        """Return the digest of each source that was graded, by candidate, exercise and seed."""
        with self._reading() as read:
            rows = read("SELECT candidate, exercise, seed, sha256 FROM result")
            return {(name, exercise, int(seed)): digest for name, exercise, seed, digest in rows}

    def results(self, candidate_key: str | None = None) -> Iterator[GradingResult]:
        """Yield the results of one candidate or all, one by one, by candidate, exercise, seed."""
        columns = "candidate, exercise, seed, file, report, source, note, unread"
        query = RESULTS_QUERY.format(columns)
        with self._reading() as read:
            rows = read(query, {"candidate_key": candidate_key})
            for candidate, exercise, seed, file, report, *rest in rows:
                source, note, unread = rest
                told = Report.from_json(report)
                yield GradingResult(
                    candidate, exercise, int(seed), file, told, source, note, bool(unread)
                )

    def reports(self) -> Iterator[tuple[str, str, str]]:
        """Yield candidate, file and report (JSON) of each result, in the order of ``results``."""
        with self._reading() as read:
            yield from read(
                RESULTS_QUERY.format("candidate, file, report"), {"candidate_key": None}
            )

    def nothing_to_grade(self) -> dict[tuple[str, str], tuple[str, bool]]:
        """Return, by candidate and exercise, why there was nothing to grade.

        With each reason comes whether there was a file that could not be read.
        """
        query = (
            "SELECT candidate, exercise, json_extract(report, '$.problem'), unread FROM result "
            "WHERE unread OR file = '' ORDER BY candidate, id"
        )
        with self._reading() as read:
            found = read(query)
            return {(key, e): (why.partition("\n")[0], bool(bad)) for key, e, why, bad in found}

    def sources(self, exercise: str) -> dict[str, str]:
        """Return the source of each candidate who handed in an exercise, by the candidate's key."""
        query = (
            "SELECT candidate, source FROM result WHERE exercise = ? AND source != '' "
            "ORDER BY candidate"
        )
        with self._reading() as read:
            return dict(read(query, (exercise,)))

    def record_names(self, names: Mapping[str, str]) -> None:
        """Record the current names of candidates, by their keys."""
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO candidate VALUES (?, ?)", names.items())

    def check_and_record_names(self, names: Mapping[str, str], there: Mapping[str, str]) -> None:
        """Keep the names of the candidates in the folder, and of earlier ones on the list.

        Args:
            names: The names on a list, by key; it may have candidates who were there once.
            there: The name of everybody in the folder, by key.

        Raises:
            GradeError: The list names somebody who was never in the folder.
        """
        known = self.names()
        if unknown := names.keys() - there.keys() - known.keys():
            raise GradeError(
                f"the list of names has `{min(unknown)}`, which is not in the folder; correct its "
                "`file`, or leave the line out"
            )
        self.record_names({**{key: names[key] for key in names.keys() & known.keys()}, **there})

    def names(self) -> dict[str, str]:
        """Return the latest name of each candidate who was ever in the batch's folder, by key."""
        with self._reading() as read:
            return dict(read("SELECT key, name FROM candidate ORDER BY key"))

    def fact(self, name: str) -> str:
        """Return a fact, a short text about the batch, by its name; empty if none was kept."""
        with self._reading() as read:
            row = read("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
            return str(row[0]) if row else ""

    def keep(self, name: str, value: str) -> None:
        """Keep a fact, a short text about the batch, under a name, in place of an earlier one."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def keep_weights(self, weights: Mapping[str, float]) -> None:
        """Keep the weights of the exercises, in their order."""
        self.keep("weights", msgspec.json.encode(dict(weights)).decode())

    def weights(self) -> dict[str, float]:
        """Return the weight that each exercise had when the batch ran last.

        Raises:
            GradeError: No batch has run, or only one of an earlier version.
        """
        kept = self.fact("weights")
        if not kept:
            raise GradeError(f"`{self.path}`: run the batch once more, then it is known")
        return msgspec.json.decode(kept, type=dict[str, float])

    def forget(self, graded: Iterable[tuple[str, str]]) -> None:
        """Delete the results of some candidates' exercises, so that they are graded anew."""
        with self._writing() as connection:
            connection.executemany(
                "DELETE FROM result WHERE candidate = ? AND exercise = ?", list(graded)
            )

    @contextmanager
    def _reading(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Yield the function that runs a query; damaged data raises ``GradeError``."""
        try:
            yield self._connection.execute
        except DAMAGE_ERRORS as error:
            raise self._cannot_be_used(error) from None

    def _cannot_be_used(self, error: Exception) -> GradeError:
        return GradeError(
            f"`{self.path}` cannot be used: {error}; choose another folder with --out"
        )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction; failing to write raises ``GraderFault``."""
        try:
            with self._connection:
                yield self._connection
        except sqlite3.Error as error:
            raise GraderFault(
                f"`{self.path}` cannot be written: {error}; mend that, then run the same command "
                "to continue"
            ) from None
