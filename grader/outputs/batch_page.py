"""A batch as one page for a hiring team: who got what, what tells them apart, every report.

The page needs nothing beside itself. The reports are in it as they were rendered here, packed; its
one script unfolds those of the candidate who is opened, and sorts and filters the table. Without
it the table, the counts and the pairs are read all the same. Names are hidden until asked for.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grader.outputs.batch_alike import ShownAlike, show_alike, wanted
from grader.outputs.batch_counts import Checks, histograms, mistakes, share_of
from grader.outputs.batch_packed import Shelf, candidate_part, json_block
from grader.outputs.jinja import render
from grader.records import Report, Row, Similarity

SCRIPTS = ("batch_list.js", "batch_opened.js")
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
        numbers: What stands for each name, until it is to be shown.
        alike: By exercise, what came of comparing the submissions; all names in it are those of
            candidates who handed it in.
    """

    title: str
    weights: Mapping[str, float]
    made: str
    seeds: Sequence[int]
    isolation: str
    versions: Mapping[str, str]
    numbers: Mapping[str, int] = field(default_factory=dict)
    alike: Mapping[str, Similarity] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One candidate.

    Attributes:
        row: Name, total and scores, one for each exercise of the head.
        graded: Each report with the source of its submission; several of an exercise where there
            are several seeds.
    """

    row: Row
    graded: Sequence[tuple[Report, str]] = ()

    def of(self, exercise: str) -> list[tuple[Report, str]]:
        """What is graded of one exercise."""
        return [pair for pair in self.graded if pair[0].exercise == exercise]


Parts = dict[str, str]  # what a candidate's page shows, by exercise
Render = Callable[[Entry], Parts]


def one_by_one(render: Render, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Parts]]:
    """Each entry and what is rendered of it."""
    return ((entry, render(entry)) for entry in entries)


def batch_page(
    head: Head,
    candidates: Iterable[Entry],
    render_each: Callable[[Render, Iterable[Entry]], Iterator[tuple[Entry, Parts]]] = one_by_one,
) -> Iterator[str]:
    """A batch as one page, piece by piece; of the reports, one candidate's are held at a time.

    Args:
        head: What is said of the batch as a whole.
        candidates: In any order; the page has that of their numbers.
        render_each: Renders each of them, in this order; several at a time where it likes.
    """
    style = Markup(render("batch_style.css"))
    script = Markup(_script())
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        # Bars have their lengths as attributes, which only our templates write.
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    batch = _Batch(head)
    yield render("batch_begin.html", head=head, style=style, policy=policy)
    for entry, parts in render_each(partial(_render, list(head.weights)), candidates):
        yield from batch.add(entry, parts)
    yield from batch.rest()
    yield from batch.pages()
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _render(exercises: Sequence[str], entry: Entry) -> Parts:
    """What takes nearly all the time of a page."""
    graded = {name: entry.of(name) for name in exercises}
    notes = {  # a problem is in the report
        name: score.note if score.marks or not any(r.problem for r, _ in graded[name]) else ""
        for name, score in zip(exercises, entry.row.scores, strict=True)
    }
    return {
        name: candidate_part(f"e{number}", graded[name], notes[name])
        for number, name in enumerate(exercises)
        if graded[name]
    }


class _Batch:
    """What is kept of each candidate while the page is written."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._exercises = list(head.weights)
        self._rows: list[Row] = []
        self._shelves = {name: Shelf(str(i)) for i, name in enumerate(self._exercises)}
        self._checks = {name: Checks(name) for name in self._exercises}
        self._wanted = {name: wanted(found) for name, found in head.alike.items()}
        self._sources: dict[str, dict[str, str]] = {name: {} for name in head.alike}

    def add(self, entry: Entry, parts: Parts) -> Iterator[str]:
        """Take a candidate; gives the packed reports that are ready."""
        place, name = len(self._rows), entry.row.candidate
        self._rows.append(entry.row)
        for exercise, part in parts.items():
            graded = entry.of(exercise)
            self._checks[exercise].add(min((r for r, _ in graded), key=lambda r: r.earned))
            yield from self._shelves[exercise].add(place, part)
            if name in self._wanted.get(exercise, ()):
                self._sources[exercise][name] = graded[0][1]

    def rest(self) -> Iterator[str]:
        """The packed reports that waited."""
        for shelf in self._shelves.values():
            yield from shelf.rest()

    def pages(self) -> Iterator[str]:
        """All that a person reads, and the figures that the script sorts by."""
        order = self._order()
        rows = [self._rows[place] for place in order]
        found = mistakes(self._exercises, rows)
        basics: dict[str, Any] = {"head": self._head, "exercises": self._exercises}
        tally = [
            Counter(row.scores[number].status for row in rows)
            for number in range(len(self._exercises))
        ]
        yield render("batch_table.html", **basics, count=len(rows), tally=tally, mistakes=found)
        for first in range(0, len(rows), GROUP):
            people = list(enumerate(rows[first : first + GROUP], first + 1))
            yield render("batch_rows.html", **basics, people=people)
        yield render(
            "batch_rest.html",
            **basics,
            histograms=histograms(self._exercises, rows),
            checks=list(self._checks.values()),
            mistakes=found,
            alike=self._alike(rows),
        )
        yield self._figures(order, [one.name for one in found])

    def _order(self) -> list[int]:
        """Places in the order of the numbers."""
        numbers = self._head.numbers
        return sorted(
            range(len(self._rows)), key=lambda place: numbers.get(self._rows[place].candidate, 0)
        )

    def _alike(self, rows: Sequence[Row]) -> list[ShownAlike]:
        numbers = {row.candidate: number for number, row in enumerate(rows, 1)}
        return [
            show_alike(name, found, numbers, self._sources[name])
            for name, found in self._head.alike.items()
        ]

    def _figures(self, order: Sequence[int], found: Sequence[str]) -> str:
        """The data that the script works with."""
        numbers = {name: number for number, name in enumerate(found)}
        figures = []
        for row in (self._rows[place] for place in order):
            scores = [(round(share_of(one), 4), one.status) for one in row.scores]
            made = sorted({numbers[name] for one in row.scores for name in one.diagnosis})
            total = None if row.total is None else round(100 * row.total, 2)
            figures.append((total, scores, made))
        return json_block(
            "figures", {"exercises": self._exercises, "places": order, "rows": figures}
        )


def _script() -> str:
    pages = Path(__file__).with_name("pages")
    parts = "".join((pages / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _digest(text: str) -> str:
    """How a policy names the one script or style that it allows."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
