"""A report as HTML: a fragment for a notebook, or a page that needs nothing beside itself."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from grader.outputs.jinja import render
from grader.outputs.view_models import ShownReport
from grader.records import Report


def report_fragment(report: Report, source: str) -> str:
    """A report to be shown inside another page, such as a notebook.

    Its anchors begin with a random word, so that several fit on one page.

    Args:
        report: What to show.
        source: The submission's text.
    """
    return render("fragment.html", shown=ShownReport(report, source, f"g{secrets.token_hex(4)}"))


def report_page(graded: Sequence[tuple[Report, str]], steps: Sequence[str] = ()) -> str:
    """Reports as one page, which loads nothing and runs nothing.

    Args:
        graded: Each report with the source of its submission.
        steps: What to do after each, where more is known than the report tells.
    """
    known = [*steps, *("" for _ in graded)]
    shown = [
        ShownReport(report, source, f"g{number}", known[number - 1])
        for number, (report, source) in enumerate(graded, 1)
    ]
    return render("reports.html", graded=shown)
