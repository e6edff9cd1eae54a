"""The totals of a batch as the gradebooks of course systems import them.

Sources: Canvas, "How do I import grades in the Gradebook?"; Moodle, "Grade import", CSV file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from grader.outputs.gradebook import guarded
from grader.records import Row

Identified = Iterable[tuple[Row, str]]  # each row, and what a course system knows the student by


def render_canvas(title: str, rows: Identified) -> str:
    """For Canvas: one assignment out of 100 points; who is not graded has an empty cell."""
    table: list[list[str]] = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", guarded(title)],
        ["    Points Possible", "", "", "", "", "100"],
    ]
    for row, known_by in rows:
        user, login = ("", known_by) if "@" in known_by else (known_by, "")
        table.append([guarded(row.candidate), "", guarded(user), guarded(login), "", _percent(row)])
    return _written(table)


def render_moodle(title: str, rows: Identified) -> str:
    """For Moodle: one grade item out of 100, and a line of feedback."""
    head = ["Full name", "ID number", "Email address", guarded(title), "Feedback"]
    table = [head]
    for row, known_by in rows:
        number, address = ("", known_by) if "@" in known_by else (known_by, "")
        said = ", ".join(score.status for score in row.scores)
        who = [guarded(row.candidate), guarded(number), guarded(address)]
        table.append([*who, _percent(row), said])
    return _written(table)


def _percent(row: Row) -> str:
    return "" if row.total is None else f"{100 * row.total:.2f}"


def _written(table: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(table)
    return buffer.getvalue()
