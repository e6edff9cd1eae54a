"""One candidate of a batch as a page: what came of it, what to talk about, every report.

The page needs nothing beside itself and runs nothing. It is called by the candidate's number, and
names are hidden until asked for.
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
from grader.outputs.batch_ideas import by_idea
from grader.outputs.batch_sheet import sheet
from grader.outputs.jinja import render
from grader.outputs.view_models import ShownReport
from grader.records import CheckResult, Report, Row

FOLDER = "candidates"  # beside the page of all
PRINTED = 1000  # characters of what one check printed
KEPT_KIT = cache(load_kit)


@dataclass(frozen=True)
class Entry:
    """One candidate.

    Attributes:
        row: Name, total and scores, one for each exercise of the batch.
        graded: Each report with the source of its submission; several of an exercise where there
            are several seeds.
        number: What stands for the name until it is to be shown.
        around: The numbers of the candidates before and after, who have a page; 0 where none has.
    """

    row: Row
    graded: Sequence[tuple[Report, str]] = ()
    number: int = 0
    around: tuple[int, int] = (0, 0)

    def of(self, exercise: str) -> list[tuple[Report, str]]:
        """What is graded of one exercise."""
        return [pair for pair in self.graded if pair[0].exercise == exercise]

    @property
    def counting(self) -> list[tuple[Report, str]]:
        """Of each exercise the report that counts, with its source: that of the lowest score."""
        names = dict.fromkeys(report.exercise for report, _ in self.graded)
        return [min(self.of(name), key=lambda pair: pair[0].earned) for name in names]


class ShownGrading(ShownReport):
    """A report as a hiring team needs it."""

    @property
    def next_step(self) -> str:
        """What to do now."""
        return f"`grade {self.report.exercise} FILE --seed {self.report.seed}` gives it again"

    @property
    def lost(self) -> list[str]:
        """The checks that did not bring their points, as claims."""
        return [one.check.claim for one in self.wrong]


@dataclass(frozen=True)
class ShownExercise:
    """All reports of one exercise.

    Attributes:
        handed: What the file was called.
        note: What there is to say of it beside.
    """

    gradings: Sequence[ShownGrading]
    handed: str
    note: str

    @property
    def counts(self) -> ShownGrading:
        """The one whose score counts."""
        return min(self.gradings, key=lambda one: one.report.earned)

    @property
    def always(self) -> set[str]:
        """What is lost with every seed."""
        return set.intersection(*(set(one.lost) for one in self.gradings))

    @property
    def agree(self) -> bool:
        """Whether all seeds give the same score."""
        return len({one.report.earned for one in self.gradings}) == 1


def candidate_page(title: str, exercises: Sequence[str], home: Path, entry: Entry) -> str:
    """The page of one candidate, for the team.

    Args:
        title: Of the take-home.
        exercises: Their names, in the order of the scores.
        home: Of the kit.
        entry: Who it is, and what came.
    """
    kit: Kit = KEPT_KIT(home)
    counting = entry.counting
    scores = by_idea([report for report, _ in counting], kit.ideas)
    style = Markup(render("batch_style.css"))
    return render(
        "batch_candidate.html",
        title=title,
        entry=entry,
        row=entry.row,
        exercises=exercises,
        ideas=scores,
        sheet=sheet(kit, counting, scores),
        parts=_parts(exercises, entry),
        style=style,
        policy=policy(style),
    )


def policy(style: str, script: str = "") -> str:
    """What a page may do: have this style and run this script, and load nothing.

    Bars have their lengths as attributes, which only our templates write.
    """
    runs = f"script-src '{_digest(script)}'; " if script else ""
    return (
        f"default-src 'none'; {runs}style-src '{_digest(style)}'; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    """How a policy names the one script or style that it allows."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _parts(exercises: Sequence[str], entry: Entry) -> dict[str, ShownExercise | None]:
    """What is shown of each exercise; None where nothing was graded."""
    return {
        name: _shown(f"e{number}", entry.of(name), entry.row.scores[number].note)
        for number, name in enumerate(exercises)
    }


def _shown(key: str, graded: Sequence[tuple[Report, str]], note: str) -> ShownExercise | None:
    if not graded:
        return None
    gradings = [
        ShownGrading(_nameless(report), source, f"{key}-{number}")
        for number, (report, source) in enumerate(graded)
    ]
    is_told = any(report.problem.startswith(note) for report, _ in graded)
    return ShownExercise(gradings, graded[0][0].submission, "" if is_told else note)


def _nameless(report: Report) -> Report:
    """The same report, its file called by the exercise: candidates put their names into those.

    What it printed is cut; those who print whole tensors would make a page many times as large.
    """
    own = PurePath(report.submission).name
    plain = report.exercise + PurePath(own).suffix
    checks = (_renamed(replace(c, output=_cut(c.output)), own, plain) for c in report.checks)
    return replace(report, submission=plain, checks=tuple(checks), output=_cut(report.output))


def _cut(printed: str) -> str:
    more = len(printed) - PRINTED
    if more <= 0:
        return printed
    return f"{printed[:PRINTED]}\n… {more:,} characters more, in results.jsonl"


def _renamed(check: CheckResult, own: str, plain: str) -> CheckResult:
    fault = check.fault
    if fault is None:
        return check
    frames = (replace(f, file=plain) if f.file == own else f for f in fault.frames)
    return replace(check, fault=replace(fault, frames=tuple(frames)))
