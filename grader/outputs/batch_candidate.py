"""The page of one candidate of a batch: scores, topics for the interview, every report.

The page is self-contained and runs no script. It is named by the candidate's number, and names are
hidden until the reader asks for them.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath

from markupsafe import Markup

from grader.kit import Kit, load_kit
from grader.outputs.batch_ideas import points_by_idea
from grader.outputs.batch_sheet import draw_sheet
from grader.outputs.jinja import render
from grader.outputs.view_models import ShownReport
from grader.records import CheckResult, GradebookRow, Report

CANDIDATES_FOLDER = "candidates"  # holds these pages, beside the page of the whole batch
MAX_PRINTED_CHARS = 1000  # that are shown, for each check and for the import
cached_kit = cache(load_kit)


@dataclass(frozen=True)
class CandidateEntry:
    """One candidate with all reports.

    Attributes:
        row: Name, total and scores, one for each exercise of the batch.
        graded: Each report with the source of its submission; an exercise has one for each seed.
        number: The number shown in place of the name until the name is revealed.
        neighbours: The numbers of the previous and the next candidate with a page; 0 for none.
    """

    row: GradebookRow
    graded: Sequence[tuple[Report, str]] = ()
    number: int = 0
    neighbours: tuple[int, int] = (0, 0)

    def of(self, exercise: str) -> list[tuple[Report, str]]:
        """Return the reports of one exercise, each with the source of its submission."""
        return [pair for pair in self.graded if pair[0].exercise == exercise]

    @property
    def counting(self) -> list[tuple[Report, str]]:
        """The report that counts for each exercise, that of the lowest score, with its source."""
        names = dict.fromkeys(report.exercise for report, _ in self.graded)
        return [min(self.of(name), key=lambda pair: pair[0].earned) for name in names]


class ShownGrading(ShownReport):
    """A report as the page for a hiring team shows it."""

    @property
    def next_step(self) -> str:
        """The command that repeats this grading."""
        return f"`grade {self.report.exercise} FILE --seed {self.report.seed}` gives it again"

    @property
    def lost(self) -> list[str]:
        """The checks that lost points, each as a sentence."""
        return [one.check.claim for one in self.wrong]


@dataclass(frozen=True)
class ShownExercise:
    """All reports of a candidate's exercise.

    Attributes:
        submitted_name: The name of the file that was handed in.
        note: The score's note on the file; empty where a report already says it.
    """

    gradings: Sequence[ShownGrading]
    submitted_name: str
    note: str

    @property
    def counted_grading(self) -> ShownGrading:
        """The report whose score counts, which is the lowest."""
        return min(self.gradings, key=lambda one: one.report.earned)

    @property
    def lost_with_every_seed(self) -> set[str]:
        """The checks that lose points with every seed."""
        return set.intersection(*(set(one.lost) for one in self.gradings))

    @property
    def agree(self) -> bool:
        """Whether all seeds give the same score."""
        return len({one.report.earned for one in self.gradings}) == 1


def candidate_page(title: str, exercises: Sequence[str], home: Path, entry: CandidateEntry) -> str:
    """Return the page of one candidate, for the hiring team; ``home`` is the kit's folder."""
    kit: Kit = cached_kit(home)
    counting = sorted(entry.counting, key=lambda pair: exercises.index(pair[0].exercise))
    scores = points_by_idea([report for report, _ in counting], kit.ideas)
    style = Markup(render("batch_style.css"))
    return render(
        "batch_candidate.html",
        title=title,
        entry=entry,
        row=entry.row,
        exercises=exercises,
        ideas=scores,
        sheet=draw_sheet(kit, counting, scores),
        parts=_shown_exercises(exercises, entry),
        style=style,
        policy=content_security_policy(style),
    )


def content_security_policy(style: str, script: str = "") -> str:
    """Return a content security policy: a page may have this style and script, and load nothing.

    Style attributes are allowed too: they set the lengths of bars, and only our templates write
    them.
    """
    runs = f"script-src '{_digest(script)}'; " if script else ""
    return (
        f"default-src 'none'; {runs}style-src '{_digest(style)}'; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    """Return the hash by which a policy names the script or style that it allows."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _shown_exercises(
    exercises: Sequence[str], entry: CandidateEntry
) -> dict[str, ShownExercise | None]:
    """Return what is shown of each exercise, by name; None where nothing was graded."""
    return {
        name: _shown_exercise(f"e{number}", entry.of(name), entry.row.scores[number].note)
        for number, name in enumerate(exercises)
    }


def _shown_exercise(
    key: str, graded: Sequence[tuple[Report, str]], note: str
) -> ShownExercise | None:
    if not graded:
        return None
    gradings = [
        ShownGrading(_nameless(report), source, f"{key}-{number}")
        for number, (report, source) in enumerate(graded)
    ]
    is_told = any(report.problem.startswith(note) for report, _ in graded)
    return ShownExercise(gradings, graded[0][0].submission, "" if is_told else note)


def _nameless(report: Report) -> Report:
    """Return the report with its file named after the exercise and its printed output cut.

    Candidates put their names into file names, and the output of those who print whole tensors
    would make the page many times as large.
    """
    own = PurePath(report.submission).name
    plain = report.exercise + PurePath(own).suffix
    checks = (_renamed(replace(c, output=_cut(c.output)), own, plain) for c in report.checks)
    problem = report.problem.replace(f"`{own}`", f"`{plain}`")
    printed = _cut(report.output)
    return replace(report, submission=plain, checks=tuple(checks), output=printed, problem=problem)


def _cut(printed: str) -> str:
    more = len(printed) - MAX_PRINTED_CHARS
    if more <= 0:
        return printed
    return f"{printed[:MAX_PRINTED_CHARS]}\n… {more:,} characters more, in results.jsonl"


def _renamed(check: CheckResult, own: str, plain: str) -> CheckResult:
    fault = check.fault
    if fault is None:
        return check
    frames = (replace(f, file=plain) if f.file == own else f for f in fault.frames)
    return replace(check, fault=replace(fault, frames=tuple(frames)))
