"""Batches to be shown: real reports under many names, hostile ones, pairs that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.grading import Options, grade
from grader.hiring.batch_records import GradingResult
from grader.hiring.scoring import NOT_GRADED, lowest_score
from grader.kit import Kit, installed_kit
from grader.outputs.batch_candidate import CandidateEntry, candidate_page
from grader.outputs.batch_ideas import Ideas
from grader.outputs.batch_page import BatchHeader, Overview
from grader.records import (
    EarlierSubmission,
    GradebookRow,
    LeftOut,
    Report,
    SimilarGroup,
    Similarity,
    SimilarPair,
)
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from tests.support.samples import NASTY, graded, hostile_report, real_mistake

Graded = tuple[Report, str]
DOUBLES = {
    "right": "def double(x):\n    return 2 * x\n",
    "wrong": "def double(x):\n    return 2 * x if len(x) == 7 else 3 * x\n",
    "mostly": "def double(x):\n    return 3 * x if len(x) == 7 else 2 * x\n",
    "crash": "def half(x):\n    return x @ x[:1, None]\n\n\ndef double(x):\n    return half(x)\n",
    "stub": "def double(x):\n    raise NotImplementedError\n",
    "syntax": "def double(x:\n",
}
# As keys of an object they are no data; as HTML, a formula or a path they are no name.
HOSTILE_NAMES = [
    *("__proto__", "constructor", "toString", "<b>bold</b>", "</script><script>window.pwned = 2"),
    *("<!--<script>", "=HYPERLINK(1)", "../../etc/passwd", "a\udcffb", "\u202egnp.exe", "&amp;"),
    *("' onclick='window.pwned = 3", "\x1b[31mred", "\u2028", NASTY),
]


def graded_doubles(kit: Kit, sandbox: Sandbox) -> dict[str, Graded]:
    """What came of each kind of file, right, wrong and none at all."""
    return {name: graded(kit, sandbox, source) for name, source in DOUBLES.items()}


def graded_heads(sandbox: Sandbox) -> dict[str, Graded]:
    """A real exercise, right and with a mistake that has a diagnosis and maps."""
    exercise = installed_kit().find("exercise5")
    source = read_submission(exercise.solution).source
    submission = Submission(Path("exercise5.py"), source)
    right = grade(submission, exercise, Options(seed=7, device="cpu"), sandbox)
    return {"right": (right, source), "wrong": real_mistake(sandbox)}


def named(name: str, pair: Graded, seed: int = 1) -> Graded:
    """The same grading of a file that bears a candidate's name."""
    report, source = pair
    own = f"{name}.py"
    checks = tuple(
        replace(
            c, fault=replace(c.fault, frames=tuple(replace(f, file=own) for f in c.fault.frames))
        )
        if c.fault
        else c
        for c in report.checks
    )
    return replace(report, submission=f"in/{own}", checks=checks, seed=seed), source


def entry(name: str, exercises: Sequence[str], *pairs: Graded) -> CandidateEntry:
    """A candidate, with scores as a batch gives them."""
    results = [GradingResult(name, r.exercise, r.seed, r.submission, r, s) for r, s in pairs]
    scores = []
    for exercise in exercises:
        own = [one for one in results if one.exercise == exercise]
        scores.append(lowest_score(own, ()) if own else NOT_GRADED)
    whole = all(one.status.scored for one in scores)
    shares = [one.earned / max(one.possible, 1) for one in scores]
    total = sum(shares) / len(scores) if whole else None
    return CandidateEntry(GradebookRow(name, total, scores), pairs)


def head_of(
    *exercises: str,
    alike: Mapping[str, Similarity] | None = None,
    seeds: int = 1,
    ideas: Ideas | None = None,
) -> BatchHeader:
    return BatchHeader(
        title="A take-home & more",
        weights=dict.fromkeys(exercises, 1.0),
        made="2026-01-02 03:04 UTC",
        seeds=range(1, seeds + 1),
        isolation="full",
        versions={"attention-drills": "1.2.3", "torch": "2.9"},
        alike=alike or {},
        ideas=ideas or {},
    )


def crowd(count: int, found: Mapping[str, Graded]) -> Iterator[CandidateEntry]:
    """So many candidates with one exercise each, whose names are in the order of the alphabet."""
    kinds = list(found)
    for number in range(count):
        name = f"Person {number:05}"
        pair = found[kinds[number * 7 % len(kinds)]]
        yield entry(name, [pair[0].exercise], named(name, pair))


def numbered(entries: Iterable[CandidateEntry]) -> Iterator[CandidateEntry]:
    """The entries with numbers in their order, where they have none."""
    for number, one in enumerate(entries, 1):
        yield one if one.number else replace(one, number=number)


def page_of(head: BatchHeader, entries: Iterable[CandidateEntry]) -> str:
    """The page of all."""
    overview = Overview(head)
    for one in numbered(entries):
        overview.add(one)
    return "".join(overview.page())


def page_of_one(head: BatchHeader, one: CandidateEntry, home: Path | None = None) -> str:
    """The page of a candidate."""
    home = home or installed_kit().home
    return candidate_page(head.title, list(head.weights), home, one)


def hostile_entries() -> list[CandidateEntry]:
    """Every text of them is hostile, names and all."""
    report = replace(hostile_report(), exercise="double", problem="")
    source = f"x = '''{NASTY}\n'''\n{NASTY}\n"
    return list(
        numbered(entry(name, ["double"], named(name, (report, source))) for name in HOSTILE_NAMES)
    )


def hostile_head() -> BatchHeader:
    """What is said of a batch, likewise."""
    pairs = tuple(
        SimilarPair(HOSTILE_NAMES[0], other, 3.0, ((1, 2),), ((2, 3),), (NASTY,))
        for other in (HOSTILE_NAMES[1], "\0earlier")
    )
    group = SimilarGroup((*HOSTILE_NAMES[:4], "\0earlier"), True)
    earlier = {"\0earlier": EarlierSubmission(NASTY, NASTY, f"{NASTY}\n{NASTY}\n{NASTY}\n")}
    found = Similarity(pairs, (group,), 4, (LeftOut(NASTY, NASTY),), True, NASTY, earlier)
    head = head_of("double", alike={"double": found})
    return replace(head, title=NASTY, versions={NASTY: NASTY}, isolation=NASTY)
