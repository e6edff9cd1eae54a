"""Writing the files that a team works with, from a batch's store."""

from __future__ import annotations

import itertools
import operator
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from grader.diagnosis.edits import read_edits
from grader.errors import GradeError
from grader.hiring.batch_records import GradingResult
from grader.hiring.candidates import Candidate
from grader.hiring.comparison import compare_submissions
from grader.hiring.earlier import EarlierSubmissions
from grader.hiring.parallel import parallel_map
from grader.hiring.remarks import Remarks, in_words
from grader.hiring.scoring import (
    NOT_GRADED,
    WITHDRAWN,
    lowest_reports,
    lowest_score,
    with_note_and_mark,
)
from grader.hiring.store import BatchStore
from grader.hiring.written import delete_stale, safe_name, write_parts
from grader.kit import Kit
from grader.outputs.batch_candidate import CANDIDATES_FOLDER, CandidateEntry, candidate_page
from grader.outputs.batch_page import BatchHeader, Overview
from grader.outputs.course_gradebooks import IdentifiedRow, render_canvas, render_moodle
from grader.outputs.exercism import render_exercism
from grader.outputs.feedback import feedback_page
from grader.outputs.gradebook import render_gradebook, render_mail_merge
from grader.outputs.gradescope import render_gradescope
from grader.outputs.junit import render_junit
from grader.outputs.phrases import without_the_repair
from grader.records import FeedbackDepth, GradebookRow, Report, Score, Similarity, Status

GRADEBOOK_RENDERERS = {"canvas": render_canvas, "moodle": render_moodle}
# The files of each form in a candidate's folder, to be deleted once the candidate is gone.
FORM_FILES = {"junit": "junit.xml", "gradescope": "results.json", "exercism": "*/results.json"}
MIN_CANDIDATES_FOR_PARALLEL = 200  # from then on, several processes render the pages faster


class BatchResults:
    """The results of a batch, candidate by candidate.

    Candidates who are in the store, but not among those given, are shown as withdrawn.

    Args:
        store: The batch's store.
        candidates: All candidates, also those who have no result yet.
        weights: The weight of each exercise, in the order in which they were sent.
        kit: The kit that the exercises are of.
        known_by: The id by which a course system knows each candidate, by the candidate's key.
        changed: What to do about each file that is no longer the one that was graded, by the
            candidate's key and the exercise.
        depth: How much the pages of feedback tell.
    """

    def __init__(
        self,
        store: BatchStore,
        candidates: Sequence[Candidate],
        weights: Mapping[str, float],
        kit: Kit,
        known_by: Mapping[str, str] | None = None,
        changed: Mapping[tuple[str, str], str] | None = None,
        depth: FeedbackDepth = FeedbackDepth.CAUSE,
    ) -> None:
        self._remarks = Remarks(store.path.parent)
        self._faults: dict[tuple[str, str], str] = {}
        self._changed = changed or {}
        self._store = store
        owners = {one.key: one.owner for one in candidates if one.owner}
        self._canvas = {k: one.number for k, one in owners.items() if one.system == "Canvas"}
        self._names = {candidate.key: candidate.name for candidate in candidates}
        self._key_of = {name: key for key, name in self._names.items()}
        taken = set(self._names.values())
        known = {key: name for key, name in store.names().items() if key not in self._names}
        self._gone = {key: key if name in taken else name for key, name in known.items()}
        # Of whom nothing could be graded until it was sent again as another kind of file.
        nothing = store.nothing_to_grade()
        graded = {key for key, exercise, _ in store.done() if (key, exercise) not in nothing}
        self._replaced = {key for key, name in known.items() if name in taken} - graded
        self._weights = weights
        self._kit = kit
        exercises = [kit.find(name) for name in weights]
        self._stubs = {one.name: one.stub_digests for one in exercises}
        # Exercises whose mistakes a candidate may read about.
        self._explained = [one.name for one in exercises if one.diagnosis]
        self._known_by = known_by or {}
        self._depth = depth

    def explain_missing(self, faults: Mapping[tuple[str, str], str]) -> None:
        """Note why something could not be graded, by the candidate's key and the exercise."""
        self._faults.update(faults)

    def write(
        self,
        folder: Path,
        forms: Sequence[str] = (),
        alike: Mapping[str, Similarity] | None = None,
    ) -> Iterator[Path]:
        """Write results, gradebook, pages and further forms; yield each path.

        A form is a format for another tool, such as ``junit`` or ``canvas``. Each path is yielded
        as soon as it is written: the pages of thousands take a minute.

        Args:
            folder: The folder to write to.
            forms: The forms that are asked for; those of earlier runs are written anew too.
            alike: By exercise, the result of comparing the submissions.

        Raises:
            GradeError: A file cannot be written.
        """
        yield write_parts(folder / "results.jsonl", self._jsonl())
        yield self.write_gradebook(folder)
        yield self._write_pages(folder, alike or {})
        for form in self._wanted(forms):
            yield self._write_form(form, folder)

    def _write_form(self, form: str, folder: Path) -> Path:
        """Write the results in one form, and return the path of its file or folder."""
        path = folder / form
        if form == "feedback":
            return self._write_feedback(path)
        if form == "excel":  # which takes a file for UTF-8 by this mark
            table = render_gradebook(self.exercises, self.rows())
            return write_parts(path.with_suffix(".csv"), ["\ufeff", table])
        if form in GRADEBOOK_RENDERERS:
            table = GRADEBOOK_RENDERERS[form](self._title, self._identified())
            return write_parts(path.with_suffix(".csv"), [table])
        each: dict[str, Callable[[Sequence[GradingResult]], Iterator[tuple[str, str]]]] = {
            "junit": self._junit,
            "gradescope": self._gradescope,
            "exercism": self._exercism,
        }
        for name, results in self.by_candidate():
            for file, text in each[form](results):
                write_parts(path / safe_name(name) / file, [text])
        delete_stale(path, FORM_FILES[form], {safe_name(name) for name in self._all()})
        return path

    @property
    def exercises(self) -> list[str]:
        """The names of the exercises, in the order in which they were sent."""
        return list(self._weights)

    def compare(self, earlier: EarlierSubmissions | None = None) -> dict[str, Similarity]:
        """Return, by exercise, how similar the submissions of the candidates are.

        Args:
            earlier: What was handed in for each exercise in earlier batches.
        """
        exercises = [self._kit.find(name) for name in self._weights]
        return compare_submissions(self._store, exercises, self._names, earlier)

    def _write_pages(self, folder: Path, alike: Mapping[str, Similarity]) -> Path:
        """Write the page of each candidate, and the batch's page; return the path of the latter."""
        overview = Overview(self._head(alike))
        render = partial(candidate_page, self._title, self.exercises, self._kit.home)
        entries, written = self._entries(), set()
        many = len(self._names) >= MIN_CANDIDATES_FOR_PARALLEL
        pages = parallel_map(render, entries) if many else ((one, render(one)) for one in entries)
        for entry, page in pages:
            overview.add(entry)
            if entry.graded:
                path = folder / CANDIDATES_FOLDER / f"{entry.number}.html"
                written.add(write_parts(path, [page]).name)
        for stale in (folder / CANDIDATES_FOLDER).glob("*.html"):
            if stale.name not in written:
                stale.unlink()
        return write_parts(folder / "report.html", overview.page())

    def write_gradebook(self, folder: Path) -> Path:
        """Write ``gradebook.csv`` with the scores that are known so far, and return its path."""
        table = render_gradebook(self.exercises, self.rows())
        return write_parts(folder / "gradebook.csv", [table])

    def _write_feedback(self, folder: Path) -> Path:
        """Write a page to send to each candidate, and ``feedback.csv``; return the folder."""
        sent = []
        for name, results in self.by_candidate():
            row, reports = self._row(name, self._scores(results)), lowest_reports(results)
            page = feedback_page(
                self._title, self.exercises, row, reports, self._explained, self._depth
            )
            path = write_parts(folder / f"{safe_name(name)}.html", [page])
            sent.append((row, self._known_by.get(self._key_of[name], ""), path))
        names = {path.name for _, _, path in sent}
        write_parts(self._store.path.with_name("feedback.csv"), [render_mail_merge(sent)])
        known = set(self._store.fact("feedback").split("/")) - names
        for stale in known & {path.name for path in folder.glob("*.html") if path.is_file()}:
            (folder / stale).unlink()
        self._store.keep("feedback", "/".join(sorted(names)))
        return folder

    def without_id(self, form: str) -> list[str]:
        """Return the candidates whom a course system cannot identify in this form of gradebook."""
        people = self._identified() if form in GRADEBOOK_RENDERERS else []
        return [p.row.candidate for p in people if not (p.id or (form == "canvas" and p.number))]

    def _identified(self) -> list[IdentifiedRow]:
        return [
            IdentifiedRow(row, self._known_by.get(key, ""), self._canvas.get(key, ""))
            for key, row in zip(self._names, self.rows(), strict=False)
        ]

    def _wanted(self, forms: Sequence[str]) -> list[str]:
        """Return the forms (formats such as ``junit``) asked for now or before, and keep them."""
        wanted = sorted({*forms, *self._store.fact("forms").split()})
        self._store.keep("forms", " ".join(wanted))
        return wanted

    def _all(self) -> list[str]:
        return list(self._names.values())

    def by_candidate(self) -> Iterator[tuple[str, list[GradingResult]]]:
        """Yield name and results of each candidate who has any; one at a time is in memory."""
        for key, results in itertools.groupby(self._store.results(), lambda one: one.candidate):
            if key in self._names:
                yield self._names[key], list(results)

    def rows(self) -> list[GradebookRow]:
        """Return the gradebook's rows in the order of the candidates, withdrawn ones at the end."""
        graded = {name: self._marked(results) for name, results in self.by_candidate()}
        there = [self._row(name, graded.get(name, {})) for name in self._all()]
        return [*there, *self._withdrawn()]

    def row_of(self, candidate: Candidate) -> GradebookRow:
        """Return the gradebook's row of one candidate."""
        results = list(self._store.results(candidate.key))
        return self._row(candidate.name, self._marked(results) if results else {})

    def _withdrawn(self) -> list[GradebookRow]:
        return [
            GradebookRow(name, None, [WITHDRAWN] * len(self._weights))
            for key, name in self._gone.items()
            if key not in self._replaced
        ]

    def _row(self, name: str, scores: Mapping[str, Score]) -> GradebookRow:
        key = self._key_of[name]
        missing = {
            exercise: replace(NOT_GRADED, note=self._faults.get((key, exercise), ""))
            for exercise in self._weights
        }
        found = [scores.get(exercise, missing[exercise]) for exercise in self._weights]
        said = tuple(map(in_words, self._remarks.of(key)))
        row = partial(
            GradebookRow, scores=found, decision=self._remarks.decision(key), remarks=said
        )
        if any(one.status is Status.NOT_GRADED for one in found):
            return row(name, None)
        shares = [score.earned / max(score.possible, 1) for score in found]
        total = sum(map(operator.mul, self._weights.values(), shares))
        return row(name, total / sum(self._weights.values()))

    def _scores(self, results: Sequence[GradingResult]) -> dict[str, Score]:
        """Return the scores of one candidate, with the points that were set by hand.

        These are no more than can be earned now: the remark may be of an earlier version.
        """
        points = self._remarks.points(results[0].candidate)
        return {
            name: replace(one, earned=min(points[name].points or 0, one.possible))
            if name in points
            else one
            for name, one in self._by_the_checks(results).items()
        }

    def _by_the_checks(self, results: Sequence[GradingResult]) -> dict[str, Score]:
        """Return the scores of one candidate as they were graded."""
        by_exercise: dict[str, list[GradingResult]] = {}
        for result in results:
            by_exercise.setdefault(result.exercise, []).append(result)
        return {name: lowest_score(found, self._stubs[name]) for name, found in by_exercise.items()}

    def _marked(self, results: Sequence[GradingResult]) -> dict[str, Score]:
        """Return scores as the team sees them: marked where set by hand, or the file changed."""
        scores, key = self._scores(results), results[0].candidate
        points, graded = self._remarks.points(key), self._by_the_checks(results)
        for name, one in scores.items():
            if name in points:
                before = f"{graded[name].earned} by the checks"
                one = with_note_and_mark(one, f"{in_words(points[name])}; {before}", "set by hand")
            if to_do := self._changed.get((key, name)):
                one = with_note_and_mark(one, to_do, "changed since")
            scores[name] = one
        return scores

    def _head(self, alike: Mapping[str, Similarity]) -> BatchHeader:
        settings = self._store.known_settings()
        if settings is None:
            raise GradeError(f"`{self._store.path}` holds no batch; `grade batch` begins one")
        return BatchHeader(
            title=self._title,
            weights=self._weights,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            seeds=settings.seeds,
            isolation=settings.isolation,
            versions={"attention-drills": settings.grader, "torch": settings.torch},
            alike=alike,
            ideas=self._kit.ideas,
            edits={
                one.name: one.says
                for name in self._explained
                for one in read_edits(self._kit.find(name).mistakes)
            },
        )

    def _numbers(self) -> dict[str, int]:
        """Return the number that is shown in place of each candidate's name.

        It is drawn at random once, then kept; all who join later get higher numbers than before.
        """
        called = {**self._gone, **self._names}
        kept = [key for key in self._store.fact("numbers").split("/") if key in called]
        new = sorted(called.keys() - set(kept))
        random.SystemRandom().shuffle(new)
        self._store.keep("numbers", "/".join([*kept, *new]))
        return {called[key]: number for number, key in enumerate([*kept, *new], 1)}

    @property
    def _title(self) -> str:
        settings = self._store.known_settings()
        record = tomllib.loads(settings.takehome) if settings else {}
        return str(record.get("title") or ", ".join(self._weights))

    def _entries(self) -> Iterator[CandidateEntry]:
        numbers, left = self._numbers(), dict.fromkeys(self._all())
        graded = {key for key, _, _ in self._store.done()} & self._names.keys()
        shown = [0, *sorted(numbers[self._names[key]] for key in graded), 0]
        neighbours = dict(zip(shown[1:-1], zip(shown, shown[2:], strict=False), strict=True))
        for name, results in self.by_candidate():
            del left[name]
            pairs, number = [(one.report, one.source) for one in results], numbers[name]
            yield CandidateEntry(
                self._row(name, self._marked(results)), pairs, number, neighbours[number]
            )
        for row in [*(self._row(name, {}) for name in left), *self._withdrawn()]:
            yield CandidateEntry(row, number=numbers[row.candidate])

    def _jsonl(self) -> Iterator[str]:
        for key, file, report in self._store.reports():
            if key in self._names:
                who = {"candidate": self._names[key], "file": file}
                begin = msgspec.json.encode(who).decode()
                yield f"{begin[:-1]},{report[1:]}\n"  # as text: decoding thousands takes a while

    def _junit(self, results: Sequence[GradingResult]) -> Iterator[tuple[str, str]]:
        yield "junit.xml", render_junit([one.report for one in results])

    def _gradescope(self, results: Sequence[GradingResult]) -> Iterator[tuple[str, str]]:
        yield "results.json", render_gradescope(self._to_be_read(results), self._weights)

    def _exercism(self, results: Sequence[GradingResult]) -> Iterator[tuple[str, str]]:
        for report in self._to_be_read(results):
            yield f"{report.exercise}/results.json", render_exercism(report)

    def _to_be_read(self, results: Sequence[GradingResult]) -> list[Report]:
        """Return the reports that count, in the form that a candidate may read."""
        return [
            one if one.exercise in self._explained else without_the_repair(one)
            for one in lowest_reports(results)
        ]
