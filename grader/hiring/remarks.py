"""A team's remarks on candidates: notes, decisions, points set by hand; none is overwritten.

Remarks lie in a file of their own beside the results, one line of JSON for each, so that they
outlive every regrading and can be read by a person.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from grader.errors import GradeError
from grader.submission import read_whole

REMARKS_FILE = "remarks.jsonl"
MAX_REMARKS_BYTES = 64 << 20  # of the file: hundreds of thousands of remarks
DECISIONS = ("yes", "no", "open")


class Remark(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One remark.

    Attributes:
        at: When the remark was made, in ISO 8601, UTC.
        by: Who made the remark: the account's name.
        candidate: The key by which the candidate's results are kept.
        text: A note, or the reason why points are set.
        decision: One of ``DECISIONS``; empty where none was made.
        exercise: The exercise whose points are set; empty where none are.
        points: The points that are set; None takes back those that were set before.
    """

    at: str
    by: str
    candidate: str
    text: str = ""
    decision: str = ""
    exercise: str = ""
    points: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Remarks:
    """All remarks of a batch, the oldest first, in the folder of its results.

    Raises:
        GradeError: The file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / REMARKS_FILE
        try:
            there = self.file.exists()
            data = read_whole(self.file, MAX_REMARKS_BYTES, "move it away") if there else b""
            lines = data.splitlines()
            found = [msgspec.json.decode(line, type=Remark) for line in lines if line.strip()]
        except (OSError, RecursionError, ValueError, msgspec.MsgspecError) as error:
            raise GradeError(
                f"`{self.file}` cannot be read: {error}; mend the line, or move the file away"
            ) from None
        self._by_candidate: dict[str, list[Remark]] = {}
        for one in found:
            self._by_candidate.setdefault(one.candidate, []).append(one)

    def add(self, candidate: str, **said: str | int | None) -> Remark:
        """Write down a remark by the current user, dated now, and return it.

        Raises:
            GradeError: The remark cannot be written.
        """
        remark = msgspec.convert(
            {
                "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
                "by": _user_name(),
                "candidate": candidate,
            }
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
        """Return the remarks on a candidate, the oldest first."""
        return self._by_candidate.get(candidate, ())

    def decision(self, candidate: str) -> str:
        """Return the last decision on a candidate; empty where there is none."""
        return next((one.decision for one in reversed(self.of(candidate)) if one.decision), "")

    def points(self, candidate: str) -> dict[str, Remark]:
        """Return the last remark that sets each exercise's points, unless they were taken back."""
        last = {one.exercise: one for one in self.of(candidate) if one.exercise}
        return {exercise: one for exercise, one in last.items() if one.points is not None}


def in_words(remark: Remark) -> str:
    """Return a remark as it is shown: when, who, what."""
    what = remark.text
    if remark.exercise:
        to = "no longer set" if remark.points is None else f"set to {remark.points}"
        what = f"{remark.exercise} {to}: {remark.text}"
    decided = f"decision: {remark.decision}" if remark.decision else ""
    said = "; ".join(filter(None, (what, decided)))
    return f"{remark.at[:10]}, {remark.by}: {said}"


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
