"""The scores of a batch as a CSV file that a spreadsheet opens without running any of it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.outputs.sanitise import clean
from grader.records import GradebookRow

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Where commas are for decimals, a spreadsheet cuts lines at semicolons, whatever is in quotes, and
# quotes at the beginning of what is between them are none of the text.
STARTS_AFTER_SEPARATOR = re.compile(r"([;\t\n][ \"]*)(?=[=+\-@＝＋－＠])")
EXERCISE_COLUMNS = ("earned", "possible", "status", "note")


def render_gradebook(exercises: Sequence[str], rows: Iterable[GradebookRow]) -> str:
    """Return a CSV file with a line for each candidate: the total in percent, then each exercise.

    An exercise has points, status and a note. Points and totals that are not known yet are empty.
    The last columns have the mistakes found, the team's decision and its remarks.
    """
    columns = [f"{name} {what}" for name in exercises for what in EXERCISE_COLUMNS]
    table: list[list[object]] = [
        ["candidate", "total percent", *columns, "diagnosis", "decision", "remarks"]
    ]
    for row in rows:
        cells: list[object] = [spreadsheet_safe(row.candidate), percent(row)]
        for score in row.scores:
            points = (score.earned, score.possible) if score.status.scored else ("", "")
            cells += [*points, score.status, spreadsheet_safe(score.note)]
        found = dict.fromkeys(name for score in row.scores for name in score.diagnosis)
        said = spreadsheet_safe("\n".join(row.remarks))
        table.append(
            [*cells, spreadsheet_safe(" ".join(found)), spreadsheet_safe(row.decision), said]
        )
    return csv_text(table)


def render_mail_merge(sent: Iterable[tuple[GradebookRow, str, Path]]) -> str:
    """Return a CSV file with a line for each page to send: recipient, path, total and decision.

    Args:
        sent: For each page the candidate's row, the id in the list of names, and the page's path.
    """
    table = [["candidate", "id", "page", "total percent", "decision"]]
    for row, known_by, page in sent:
        cells = (row.candidate, known_by, str(page.absolute()), percent(row), row.decision)
        table.append([spreadsheet_safe(cell) for cell in cells])
    return csv_text(table)


def percent(row: GradebookRow) -> str:
    """Return a candidate's total in percent; empty where it is not known yet."""
    return "" if row.total is None else f"{100 * row.total:.2f}"


def csv_text(table: Iterable[Iterable[object]]) -> str:
    """Return a table as a CSV file."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(table)
    return buffer.getvalue()


def spreadsheet_safe(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: an apostrophe goes before one.

    Source: OWASP, CSV injection
    """
    text = STARTS_AFTER_SEPARATOR.sub(r"\1'", clean(text))
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text
