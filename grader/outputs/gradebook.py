"""The scores of a batch as a CSV file that a spreadsheet opens without running any of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from grader.outputs.sanitise import clean
from grader.records import Row

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # what begins one


def render_gradebook(exercises: Sequence[str], rows: Iterable[Row]) -> str:
    """One line a candidate: total in percent, then score, points and status of each exercise."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    columns = [f"{name} {what}" for name in exercises for what in ("earned", "possible", "status")]
    writer.writerow(["candidate", "total percent", *columns, "diagnosis"])
    for row in rows:
        cells: list[object] = [guarded(row.candidate), f"{100 * row.total:.2f}"]
        for score in row.scores:
            cells += [score.earned, score.possible, score.status]
        found = dict.fromkeys(name for score in row.scores for name in score.diagnosis)
        writer.writerow([*cells, guarded(" ".join(found))])
    return buffer.getvalue()


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe goes before one.

    Source: OWASP, CSV injection
    """
    text = clean(text)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text
