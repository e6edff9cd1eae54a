"""What a team says of candidates: notes, decisions, points set by hand; nothing is written over.

A file of its own beside the results, one line of JSON for each remark, so that it outlives every
regrading and can be read by a person.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from grader.errors import GradeError

FILE = "remarks.jsonl"
DECISIONS = ("yes", "no", "open")


class Remark(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One remark.

    Attributes:
        at: ISO 8601, UTC.
        by: Who made it: the account's name.
        candidate: By the key that results are kept by.
        text: A note, or why points are set.
        decision: Of ``DECISIONS``; empty where none was made.
        exercise: Whose points are set; empty where none are.
        points: That are set; None takes back what was set before.
    """

    at: str
    by: str
    candidate: str
    text: str = ""
    decision: str = ""
    exercise: str = ""
    points: int | None = None


class Remarks:
    """All remarks of a batch, the oldest first.

    Args:
        folder: Of its results.

    Raises:
        GradeError: The file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE
        try:
            lines = self.file.read_bytes().splitlines() if self.file.exists() else []
            found = [msgspec.json.decode(line, type=Remark) for line in lines if line.strip()]
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise GradeError(
                f"`{self.file}` cannot be read: {error}; mend the line, or move the file away"
            ) from None
        self._by_candidate: dict[str, list[Remark]] = {}
        for one in found:
            self._by_candidate.setdefault(one.candidate, []).append(one)

    def add(self, candidate: str, **said: str | int | None) -> Remark:
        """Keep a remark of now, by whoever runs this.

        Raises:
            GradeError: It cannot be written.
        """
        remark = msgspec.convert(
            {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}", "by": _who(), "candidate": candidate}
            | said,
            Remark,
        )
        try:
            with self.file.open("ab") as file:
                file.write(msgspec.json.encode(remark) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise GradeError(f"`{self.file}` cannot be written: {error.strerror}") from None
        self._by_candidate.setdefault(candidate, []).append(remark)
        return remark

    def of(self, candidate: str) -> Sequence[Remark]:
        """Those about a candidate."""
        return self._by_candidate.get(candidate, ())

    def decision(self, candidate: str) -> str:
        """The last decision; empty where there is none."""
        return next((one.decision for one in reversed(self.of(candidate)) if one.decision), "")

    def points(self, candidate: str) -> dict[str, Remark]:
        """The last remark that sets the points of each exercise, where none took it back."""
        last = {one.exercise: one for one in self.of(candidate) if one.exercise}
        return {exercise: one for exercise, one in last.items() if one.points is not None}


def in_words(remark: Remark) -> str:
    """A remark as it is shown: who, when, what."""
    what = remark.text
    if remark.exercise:
        to = "no longer set" if remark.points is None else f"set to {remark.points}"
        what = f"{remark.exercise} {to}: {remark.text}"
    decided = f"decision: {remark.decision}" if remark.decision else ""
    said = "; ".join(filter(None, (what, decided)))
    return f"{remark.at[:10]}, {remark.by}: {said}"


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
