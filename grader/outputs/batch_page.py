"""A batch as one page for a hiring team: who got what and why, and what tells them apart.

The page needs nothing beside itself; a link leads to each candidate's own. Its one script sorts,
filters and saves the table. Without it the table, the counts and the pairs are read all the same.
Names are hidden until asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from grader.outputs.batch_alike import ShownAlike, show_alike, wanted
from grader.outputs.batch_candidate import FOLDER, Entry, policy
from grader.outputs.batch_counts import Checks, histograms, mistakes, share_of
from grader.outputs.batch_ideas import Ideas, IdeaScore, by_idea, names_of, why
from grader.outputs.jinja import render
from grader.records import Row, Similarity

SCRIPT = Path(__file__).with_name("pages") / "batch_list.js"
GROUP = 50  # rows that a browser lays out together, once they come into sight


@dataclass(frozen=True)
class Head:
    """What is said of a batch as a whole.

    Attributes:
        title: Of the take-home.
        weights: Of each exercise, in the order of the columns.
        made: When the page was made, as it is to be read.
        seeds: Of the gradings.
        isolation: The level of confinement.
        versions: Of what graded.
        alike: By exercise, what came of comparing the submissions; all names in it are those of
            candidates who handed it in.
        ideas: The kit's, that points are added up by.
    """

    title: str
    weights: Mapping[str, float]
    made: str
    seeds: Sequence[int]
    isolation: str
    versions: Mapping[str, str]
    alike: Mapping[str, Similarity] = field(default_factory=dict)
    ideas: Ideas = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        number: Of the candidate.
        page: Where the candidate's own page is; empty where there is none.
        ideas: Points by idea.
        why: What is wrong, in a few words.
    """

    number: int
    row: Row
    page: str
    ideas: Mapping[str, IdeaScore]
    why: str


class Overview:
    """The page, to which candidates are added in any order; of each little is kept."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._exercises = list(head.weights)
        self._lines: list[Line] = []
        self._checks = {name: Checks(name) for name in self._exercises}
        self._wanted = {name: wanted(found) for name, found in head.alike.items()}
        self._sources: dict[str, dict[str, str]] = {name: {} for name in head.alike}

    def add(self, entry: Entry) -> None:
        """Take a candidate."""
        name, counting = entry.row.candidate, entry.counting
        scores = by_idea([report for report, _ in counting], self._head.ideas)
        page = f"{FOLDER}/{entry.number}.html" if entry.graded else ""
        self._lines.append(Line(entry.number, entry.row, page, scores, why(entry.row, scores)))
        for report, _ in counting:
            self._checks[report.exercise].add(report)
        for exercise, some in self._wanted.items():
            if name in some:
                self._sources[exercise][name] = entry.of(exercise)[0][1]

    def page(self) -> Iterator[str]:
        """The page, piece by piece, its table in the order of the numbers."""
        style, script = Markup(render("batch_style.css")), Markup(_script())
        lines = sorted(self._lines, key=lambda line: line.number)
        rows = [line.row for line in lines]
        found = mistakes(self._exercises, rows)
        basics: dict[str, Any] = {
            **{"head": self._head, "exercises": self._exercises},
            "ideas": self._ideas(lines),
        }
        tally = [
            Counter(row.scores[number].status for row in rows)
            for number in range(len(self._exercises))
        ]
        allowed = policy(style, script)
        yield render("batch_begin.html", head=self._head, style=style, policy=allowed)
        yield render("batch_table.html", **basics, count=len(rows), tally=tally, mistakes=found)
        for first in range(0, len(rows), GROUP):
            yield render("batch_rows.html", **basics, lines=lines[first : first + GROUP])
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

    def _ideas(self, lines: Sequence[Line]) -> list[str]:
        """Those that anybody was asked about."""
        asked = {idea for line in lines for idea in line.ideas}
        return [name for name in names_of(self._head.ideas) if name in asked]

    def _alike(self, lines: Sequence[Line]) -> list[ShownAlike]:
        numbers = {line.row.candidate: line.number for line in lines}
        return [
            show_alike(name, found, numbers, self._sources[name])
            for name, found in self._head.alike.items()
        ]


def _figures(lines: Sequence[Line], ideas: Sequence[str], found: Sequence[str]) -> str:
    """The data that the script works with, in ASCII; nothing in it ends a script."""
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
