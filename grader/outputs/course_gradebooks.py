"""The totals of a batch as the gradebooks of course systems import them.

Sources: Canvas, "How do I import grades in the Gradebook?"; Moodle, "Grade import", CSV file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from grader.outputs.gradebook import csv_text, percent, spreadsheet_safe
from grader.records import GradebookRow

NO_ID = "no id is known"


class IdentifiedRow(NamedTuple):
    """A student's row, and the ids by which a course system knows the student.

    Attributes:
        id: The id in the list of names: an email address, or a number that the school gave.
        number: Canvas's own number for the student.
    """

    row: GradebookRow
    id: str = ""
    number: str = ""


def render_canvas(title: str, rows: Iterable[IdentifiedRow]) -> str:
    """Return Canvas's CSV file: one assignment out of 100 points, empty for ungraded students."""
    table: list[list[str]] = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", spreadsheet_safe(title)],
        ["    Points Possible", "", "", "", "", "100"],
    ]
    for row, known_by, number in rows:
        user, login = ("", known_by) if "@" in known_by else (known_by, "")
        who = (
            [number, spreadsheet_safe(user), spreadsheet_safe(login)]
            if known_by or number
            else ["", NO_ID, ""]
        )
        table.append([spreadsheet_safe(row.candidate), *who, "", percent(row)])
    return csv_text(table)


def render_moodle(title: str, rows: Iterable[IdentifiedRow]) -> str:
    """Return Moodle's CSV file: one grade item out of 100, and a line of feedback."""
    head = ["Full name", "ID number", "Email address", spreadsheet_safe(title), "Feedback"]
    table = [head]
    for row, known_by, _ in rows:
        number, address = ("", known_by) if "@" in known_by else (known_by or NO_ID, "")
        said = ", ".join(score.status for score in row.scores)
        who = [spreadsheet_safe(row.candidate), spreadsheet_safe(number), spreadsheet_safe(address)]
        table.append([*who, percent(row), said])
    return csv_text(table)
