"""Where a batch keeps its results: an SQLite file that grows by one transaction a grading."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from grader.errors import GradeError, GraderFault
from grader.hiring.claim import claim
from grader.records import Report
from grader.records.beside import acts_elsewhere

VERSION = 2
WAIT = 30.0  # for another process that writes, in seconds
SCHEMA = """
CREATE TABLE plan (one INTEGER PRIMARY KEY CHECK (one = 1), plan TEXT NOT NULL);
CREATE TABLE result (
    id INTEGER PRIMARY KEY,
    candidate TEXT NOT NULL,
    exercise TEXT NOT NULL,
    seed TEXT NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,      -- of the source
    earned INTEGER NOT NULL,
    possible INTEGER NOT NULL,
    report TEXT NOT NULL,      -- JSON
    source TEXT NOT NULL,
    note TEXT NOT NULL,
    unread INTEGER NOT NULL,
    UNIQUE (candidate, exercise, seed)
);
CREATE TABLE candidate (key TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
IN_ORDER = (
    "SELECT {} FROM result WHERE candidate = coalesce(:of, candidate) "
    "ORDER BY candidate, exercise, seed"
)


class BatchSettings(msgspec.Struct, frozen=True):
    """What every result of a batch was made with; a batch that goes on must go on so.

    Attributes:
        takehome: The record of what was sent, all weights as one, as TOML; empty for plain
            exercises.
        exercises: Their names.
        seeds: Of the gradings; the same for all candidates.
        isolation: The level of confinement.
        device: Where tensors lay.
        timeout: Of one check, in seconds.
        memory: Of a submission, in MiB.
        grader: The version of this package.
        torch: The version of torch.
        kit: The digest of what was judged by.
        submissions: The folder that everything was handed in to.
    """

    takehome: str
    exercises: tuple[str, ...]
    seeds: tuple[int, ...]
    isolation: str
    device: str
    timeout: float
    memory: int
    grader: str
    torch: str
    kit: str
    submissions: str = ""


class Result(msgspec.Struct, frozen=True):
    """One grading of a batch.

    Attributes:
        candidate: By the key, which stays the same whatever the candidate is called.
        note: Where the file was found, if under another name.
        unread: Whether there was something that could not be read.
    """

    candidate: str
    exercise: str
    seed: int
    file: str
    report: Report
    source: str
    note: str = ""
    unread: bool = False


class Store:
    """The results of one batch; a context manager.

    A result that is in it stays in it, whatever happens to the process or the machine.

    Args:
        path: Of the file, which is made where it is missing.

    Raises:
        GradeError: It is damaged, from a newer version, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or acts_elsewhere(path):
                raise sqlite3.DatabaseError("it would change another file")
            self._connection = sqlite3.connect(path, timeout=WAIT)
            try:
                self._make()
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
    def claimed(self, command: str) -> Iterator[None]:
        """Keep other batches away from the folder for a while.

        Args:
            command: What the others are told that it is in use by.

        Raises:
            GradeError: Another batch is at work in it.
        """
        with claim(self.path.parent) as is_ours:
            if not is_ours:
                raise GradeError(
                    f"another batch is at work in `{self.path.parent}`: "
                    f"`{self.fact('command')}`; wait for it, or choose another folder with --out"
                )
            self.keep("command", command)
            yield

    def is_claimed(self) -> bool:
        """Whether a batch is at work in the folder."""
        with claim(self.path.parent) as is_ours:
            return not is_ours

    def hold_to(self, settings: BatchSettings) -> None:
        """Begin with these settings, or go on with them.

        Raises:
            GradeError: The batch was begun with others.
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
        """What this batch was begun with, if it was."""
        with self._reading() as read:
            row = read("SELECT plan FROM plan").fetchone()
            return msgspec.json.decode(row[0], type=BatchSettings) if row else None

    def add(self, result: Result) -> None:
        """Keep a result, in the place of one for the same candidate, exercise and seed.

        Raises:
            GraderFault: It cannot be written, as on a full disk.
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
        """The gradings that are there: the digest of the source by candidate, exercise, seed."""
        with self._reading() as read:
            rows = read("SELECT candidate, exercise, seed, sha256 FROM result")
            return {(name, exercise, int(seed)): digest for name, exercise, seed, digest in rows}

    def results(self, of: str | None = None) -> Iterator[Result]:
        """All results, by candidate, exercise and seed; one at a time in memory.

        Args:
            of: The key of a candidate whose alone are wanted.
        """
        columns = "candidate, exercise, seed, file, report, source, note, unread"
        query = IN_ORDER.format(columns)
        with self._reading() as read:
            for candidate, exercise, seed, file, report, *rest in read(query, {"of": of}):
                source, note, unread = rest
                told = Report.from_json(report)
                yield Result(candidate, exercise, int(seed), file, told, source, note, bool(unread))

    def reports(self) -> Iterator[tuple[str, str, str]]:
        """The candidate, the file and the report of each result, in the same order, as JSON."""
        with self._reading() as read:
            yield from read(IN_ORDER.format("candidate, file, report"), {"of": None})

    def nothing_to_grade(self) -> dict[tuple[str, str], tuple[str, bool]]:
        """Why, and whether it could not be read, by candidate and exercise where nothing was."""
        query = (
            "SELECT candidate, exercise, json_extract(report, '$.problem'), unread FROM result "
            "WHERE unread OR file = '' ORDER BY candidate, id"
        )
        with self._reading() as read:
            found = read(query)
            return {(key, e): (why.partition("\n")[0], bool(bad)) for key, e, why, bad in found}

    def sources(self, exercise: str) -> dict[str, str]:
        """What each candidate handed in for an exercise, by name; nothing of who did not."""
        query = (
            "SELECT candidate, source FROM result WHERE exercise = ? AND source != '' "
            "ORDER BY candidate"
        )
        with self._reading() as read:
            return dict(read(query, (exercise,)))

    def meet(self, names: Mapping[str, str]) -> None:
        """Keep what candidates are called now, by their keys."""
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO candidate VALUES (?, ?)", names.items())

    def hold_names(self, names: Mapping[str, str], there: Mapping[str, str]) -> None:
        """Keep what those are called who are there.

        Args:
            names: From a list, which may name also who was there once.
            there: What everybody in the folder is called, by their keys.

        Raises:
            GradeError: The list names somebody who never was there.
        """
        known = self.names()
        for key in names.keys() - there.keys() - known.keys():
            raise GradeError(f"the list of names has `{key}`, which is not in the folder")
        self.meet({**{key: names[key] for key in names.keys() & known.keys()}, **there})

    def names(self) -> dict[str, str]:
        """What everybody was called last who was ever there, by their keys."""
        with self._reading() as read:
            return dict(read("SELECT key, name FROM candidate ORDER BY key"))

    def fact(self, name: str) -> str:
        """What was kept under a name; empty where nothing was."""
        with self._reading() as read:
            row = read("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
            return str(row[0]) if row else ""

    def keep(self, name: str, value: str) -> None:
        """Keep a fact about the batch under a name."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def keep_weights(self, weights: Mapping[str, float]) -> None:
        """Keep what each exercise counts, in their order."""
        self.keep("weights", msgspec.json.encode(dict(weights)).decode())

    def weights(self) -> dict[str, float]:
        """What each exercise counted when the batch ran last.

        Raises:
            GradeError: No batch ran, or one by an earlier version.
        """
        kept = self.fact("weights")
        if not kept:
            raise GradeError(f"`{self.path}`: run the batch once more, then it is known")
        return msgspec.json.decode(kept, type=dict[str, float])

    def forget(self, graded: Iterable[tuple[str, str]]) -> None:
        """Let the results of some candidates' exercises go, to grade them anew."""
        with self._writing() as connection:
            connection.executemany(
                "DELETE FROM result WHERE candidate = ? AND exercise = ?", list(graded)
            )

    @contextmanager
    def _reading(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """What asks for rows, and finds in them what was written here once."""
        try:
            yield self._connection.execute
        except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError) as error:
            raise self._cannot_be_used(error) from None

    def _cannot_be_used(self, error: Exception) -> GradeError:
        return GradeError(
            f"`{self.path}` cannot be used: {error}; choose another folder with --out"
        )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction."""
        try:
            with self._connection:
                yield self._connection
        except sqlite3.Error as error:
            raise GraderFault(
                f"`{self.path}` cannot be written: {error}; mend that, then run the same command "
                "to continue"
            ) from None

    def _make(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection, closing(self._connection.cursor()) as cursor:
            version = cursor.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise GradeError(
                    f"`{self.path}` is from a newer version of `attention-drills`: update it"
                )
            if 0 < version < VERSION:
                raise GradeError(
                    f"`{self.path}` is from an older version of `attention-drills`: go on with "
                    "that, or choose another folder with --out"
                )
            if version < VERSION:
                for statement in SCHEMA.split(";"):
                    cursor.execute(statement)
                cursor.execute(f"PRAGMA user_version = {VERSION}")
