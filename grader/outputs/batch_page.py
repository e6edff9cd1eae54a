"""The page of a whole batch, for a hiring team: scores, reasons, what tells candidates apart.

The page is self-contained, with a link to each candidate's own page. Its one script sorts, filters
and saves the table; without it, the table, the counts and the pairs can still be read. Names are
hidden until the reader asks for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from grader.outputs.batch_alike import ShownSimilarity, candidates_in_pairs, shown_similarity
from grader.outputs.batch_candidate import (
    CANDIDATES_FOLDER,
    CandidateEntry,
    content_security_policy,
)
from grader.outputs.batch_counts import ExerciseChecks, count_mistakes, histograms, share_of
from grader.outputs.batch_ideas import Ideas, IdeaScore, names_of, points_by_idea, why
from grader.outputs.jinja import render
from grader.records import GradebookRow, Similarity

SCRIPT = Path(__file__).with_name("pages") / "batch_list.js"
ROWS_PER_GROUP = 50  # that a browser lays out together, once they come into sight


@dataclass(frozen=True)
class BatchHeader:
    """The facts about a batch as a whole.

    Attributes:
        title: The title of the take-home.
        weights: The weight of each exercise, in the order of the columns.
        made: When the page was made, as text.
        seeds: The seeds of the gradings.
        isolation: The level of confinement.
        versions: The versions of the software that graded.
        alike: By exercise, the result of comparing the submissions; all names in it are those of
            candidates who handed in that exercise.
        ideas: The kit's ideas, by which points are added up.
        edits: What each of the exercises' own mistakes is, by name.
    """

    title: str
    weights: Mapping[str, float]
    made: str
    seeds: Sequence[int]
    isolation: str
    versions: Mapping[str, str]
    alike: Mapping[str, Similarity] = field(default_factory=dict)
    ideas: Ideas = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableLine:
    """A line of the table.

    Attributes:
        number: The candidate's number.
        page: The path of the candidate's own page; empty where there is none.
        ideas: The candidate's points by idea.
        why: The reason for lost points, in a few words.
    """

    number: int
    row: GradebookRow
    page: str
    ideas: Mapping[str, IdeaScore]
    why: str


class Overview:
    """The page, to which candidates are added in any order; little of each is kept in memory."""

    def __init__(self, head: BatchHeader) -> None:
        self._head = head
        self._exercises = list(head.weights)
        self._lines: list[TableLine] = []
        self._checks = {name: ExerciseChecks(name) for name in self._exercises}
        self._wanted = {name: candidates_in_pairs(found) for name, found in head.alike.items()}
        self._sources: dict[str, dict[str, str]] = {name: {} for name in head.alike}

    def add(self, entry: CandidateEntry) -> None:
        """Add a candidate to the page."""
        name, counting = entry.row.candidate, entry.counting
        reports = [report for report, _ in counting]
        scores = points_by_idea(reports, self._head.ideas)
        page = f"{CANDIDATES_FOLDER}/{entry.number}.html" if entry.graded else ""
        reason = why(entry.row, scores, reports)
        self._lines.append(TableLine(entry.number, entry.row, page, scores, reason))
        for report in reports:
            self._checks[report.exercise].add(report)
        for exercise, some in self._wanted.items():
            if name in some:
                self._sources[exercise][name] = entry.of(exercise)[0][1]

    def page(self) -> Iterator[str]:
        """Yield the page piece by piece, with its table in the order of the candidates' numbers."""
        style, script = Markup(render("batch_style.css")), Markup(_script())
        lines = sorted(self._lines, key=lambda line: line.number)
        rows = [line.row for line in lines]
        found = count_mistakes(self._exercises, rows, self._head.edits)
        basics: dict[str, Any] = {
            **{"head": self._head, "exercises": self._exercises},
            "ideas": self._ideas(lines),
        }
        tally = [
            Counter(row.scores[number].status for row in rows)
            for number in range(len(self._exercises))
        ]
        allowed = content_security_policy(style, script)
        yield render("batch_begin.html", head=self._head, style=style, policy=allowed)
        yield render("batch_table.html", **basics, count=len(rows), tally=tally, mistakes=found)
        for first in range(0, len(rows), ROWS_PER_GROUP):
            yield render("batch_rows.html", **basics, lines=lines[first : first + ROWS_PER_GROUP])
        yield render(
            "batch_rest.html",
            **basics,
            histograms=histograms(self._exercises, rows),
            checks=list(self._checks.values()),
            mistakes=found,
            alike=self._alike(lines),
        )
        yield _figures(lines, basics["ideas"], [one.name for one in found])
        yield f"<script>{script}</script>\n</body>\n</html>\n"

    def _ideas(self, lines: Sequence[TableLine]) -> list[str]:
        """Return the ideas on which any candidate has points to earn."""
        asked = {idea for line in lines for idea in line.ideas}
        return [name for name in names_of(self._head.ideas) if name in asked]

    def _alike(self, lines: Sequence[TableLine]) -> list[ShownSimilarity]:
        numbers = {line.row.candidate: line.number for line in lines}
        return [
            shown_similarity(name, found, numbers, self._sources[name])
            for name, found in self._head.alike.items()
        ]


def _figures(lines: Sequence[TableLine], ideas: Sequence[str], found: Sequence[str]) -> str:
    """Return the table's data for the page's script, as JSON in an HTML element.

    Nothing in the data can close the element.
    """
    numbers = {name: number for number, name in enumerate(found)}
    figures = []
    for line in lines:
        row = line.row
        scores = [(round(share_of(one), 4), one.status) for one in row.scores]
        made = sorted({numbers[name] for one in row.scores for name in one.diagnosis})
        total = None if row.total is None else round(100 * row.total, 2)
        shares = [line.ideas[idea].percent if idea in line.ideas else -1 for idea in ideas]
        figures.append((line.number, total, scores, made, shares))
    text = msgspec.json.encode(figures).decode().replace("<", "\\u003c")
    return f'<script type="application/json" id="figures">{text}</script>\n'


def _script() -> str:
    return f'(() => {{\n"use strict";\n{SCRIPT.read_text(encoding="utf-8")}}})();\n'
