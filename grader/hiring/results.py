"""Writing the files that a team works with, from a batch's store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from grader.diagnosis.edits import read_edits
from grader.errors import GradeError
from grader.hiring.batch_records import GradingResult
from grader.hiring.comparison import compare_submissions
from grader.hiring.earlier import EarlierSubmissions
from grader.hiring.gradebook import Gradebook
from grader.hiring.parallel import parallel_map
from grader.hiring.scoring import lowest_reports
from grader.hiring.written import delete_stale, safe_name, write_parts
from grader.outputs.batch_candidate import CANDIDATES_FOLDER, CandidateEntry, candidate_page
from grader.outputs.batch_page import BatchHeader, Overview
from grader.outputs.course_gradebooks import IdentifiedRow, render_canvas, render_moodle
from grader.outputs.exercism import render_exercism
from grader.outputs.feedback import feedback_page
from grader.outputs.gradebook import render_gradebook, render_mail_merge
from grader.outputs.gradescope import render_gradescope
from grader.outputs.junit import render_junit
from grader.outputs.phrases import without_the_repair
from grader.outputs.sanitise import escape_invisible
from grader.records import FeedbackDepth, Report, Similarity

GRADEBOOK_RENDERERS = {"canvas": render_canvas, "moodle": render_moodle}
# The files of each form in a candidate's folder, to be deleted once the candidate is gone.
FORM_FILES = {"junit": "junit.xml", "gradescope": "results.json", "exercism": "*/results.json"}
MIN_CANDIDATES_FOR_PARALLEL = 200  # from then on, several processes render the pages faster


class BatchResults:
    """The results of a batch, as files to write.

    Args:
        book: The batch's gradebook.
        known_by: The id by which a course system knows each candidate, by the candidate's key.
        depth: How much the pages of feedback tell.
    """

    def __init__(
        self,
        book: Gradebook,
        known_by: Mapping[str, str] | None = None,
        depth: FeedbackDepth = FeedbackDepth.CAUSE,
    ) -> None:
        self.book, self._store, self._kit = book, book.store, book.kit
        exercises = map(self._kit.find, book.weights)
        # Exercises whose mistakes a candidate may read about.
        self._explained = [one.name for one in exercises if one.diagnosis]
        self._known_by = known_by or {}
        self._depth = depth

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
            table = render_gradebook(self.book.exercises, self.book.rows())
            return write_parts(path.with_suffix(".csv"), ["\ufeff", table])
        if form in GRADEBOOK_RENDERERS:
            table = GRADEBOOK_RENDERERS[form](self.book.title, self._identified())
            return write_parts(path.with_suffix(".csv"), [table])
        for name, results in self.book.by_candidate():
            for file, text in self._files(form, results):
                write_parts(path / safe_name(name) / file, [text])
        delete_stale(path, FORM_FILES[form], {safe_name(name) for name in self.book.names.values()})
        return path

    def compare(self, earlier: EarlierSubmissions | None = None) -> dict[str, Similarity]:
        """Return, by exercise, how similar the submissions are, to earlier batches' as well."""
        exercises = [self._kit.find(name) for name in self.book.weights]
        return compare_submissions(self._store, exercises, self.book.names, earlier)

    def _write_pages(self, folder: Path, alike: Mapping[str, Similarity]) -> Path:
        """Write the page of each candidate, and the batch's page; return the path of the latter."""
        overview = Overview(self._head(alike))
        render = partial(candidate_page, self.book.title, self.book.exercises, self._kit.home)
        entries, written = self._entries(), set()
        many = len(self.book.names) >= MIN_CANDIDATES_FOR_PARALLEL
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
        table = render_gradebook(self.book.exercises, self.book.rows())
        return write_parts(folder / "gradebook.csv", [table])

    def _write_feedback(self, folder: Path) -> Path:
        """Write a page to send to each candidate, and ``feedback.csv``; return the folder."""
        book, sent = self.book, []
        for name, results in book.by_candidate():
            row, reports = book.row(name, book.scores(results)), lowest_reports(results)
            page = feedback_page(
                book.title, book.exercises, row, reports, self._explained, self._depth
            )
            path = write_parts(folder / f"{safe_name(name)}.html", [page])
            sent.append((row, self._known_by.get(book.keys[name], ""), path))
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
            IdentifiedRow(row, self._known_by.get(key, ""), self.book.in_canvas.get(key, ""))
            for key, row in zip(self.book.names, self.book.rows(), strict=False)
        ]

    def _wanted(self, forms: Sequence[str]) -> list[str]:
        """Return the forms (formats such as ``junit``) asked for now or before, and keep them."""
        wanted = sorted({*forms, *self._store.fact("forms").split()})
        self._store.keep("forms", " ".join(wanted))
        return wanted

    def _head(self, alike: Mapping[str, Similarity]) -> BatchHeader:
        settings = self._store.known_settings()
        if settings is None:
            raise GradeError(f"`{self._store.path}` holds no batch; `grade batch` begins one")
        return BatchHeader(
            title=self.book.title,
            weights=self.book.weights,
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

    def _entries(self) -> Iterator[CandidateEntry]:
        book = self.book
        numbers, left = book.numbers(), dict.fromkeys(book.names.values())
        graded = {key for key, _, _ in self._store.done()} & book.names.keys()
        shown = [0, *sorted(numbers[book.names[key]] for key in graded), 0]
        neighbours = dict(zip(shown[1:-1], zip(shown, shown[2:], strict=False), strict=True))
        for name, results in book.by_candidate():
            del left[name]
            pairs, number = [(one.report, one.source) for one in results], numbers[name]
            row = book.row(name, book.marked(results))
            yield CandidateEntry(row, pairs, number, neighbours[number])
        for row in [*(book.row(name, {}) for name in left), *book.withdrawn()]:
            yield CandidateEntry(row, number=numbers[row.candidate])

    def _jsonl(self) -> Iterator[str]:
        for key, file, report in self._store.reports():
            if key in self.book.names:
                who = {"candidate": self.book.names[key], "file": file}
                begin = msgspec.json.encode(who).decode()
                # As text: decoding thousands takes a while.
                yield escape_invisible(f"{begin[:-1]},{report[1:]}") + "\n"

    def _files(self, form: str, results: Sequence[GradingResult]) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of each file of a candidate's folder in one form."""
        if form == "junit":
            yield "junit.xml", render_junit([one.report for one in results])
        elif form == "gradescope":
            yield "results.json", render_gradescope(self._to_be_read(results), self.book.weights)
        else:
            for report in self._to_be_read(results):
                yield f"{report.exercise}/results.json", render_exercism(report)

    def _to_be_read(self, results: Sequence[GradingResult]) -> list[Report]:
        """Return the reports that count, in the form that a candidate may read."""
        return [
            one if one.exercise in self._explained else without_the_repair(one)
            for one in lowest_reports(results)
        ]
