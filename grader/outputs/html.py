"""A report as HTML: a fragment for a notebook, or a self-contained page."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from grader.outputs.jinja import render
from grader.outputs.view_models import ShownReport
from grader.records import Report


def report_fragment(report: Report, source: str) -> str:
    """Return a report as HTML to be shown inside another page, such as a notebook.

    The report's anchors begin with a random word, so that several reports fit on one page.
    """
    return render("fragment.html", shown=ShownReport(report, source, f"g{secrets.token_hex(4)}"))


def report_page(graded: Sequence[tuple[Report, str]], steps: Sequence[str] = ()) -> str:
    """Return reports as one page, which loads nothing and runs no script.

    Args:
        graded: Each report with the source of its submission.
        steps: The next step to show after each report; the usual one where empty or missing.
    """
    known = [*steps, *("" for _ in graded)]
    shown = [
        ShownReport(report, source, f"g{number}", known[number - 1])
        for number, (report, source) in enumerate(graded, 1)
    ]
    return render("reports.html", graded=shown)
