"""The tools' results as structured content, each sent with the text that a terminal shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from grader.outputs.phrases import plain_message, words_of
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Explain, Report

RAISED = "it raised an exception, whose words are in `untrusted`"

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class Listed:
    """One exercise, and how far the learner is with it."""

    name: str
    track: str
    level: str
    title: str
    state: str  # new, started or solved
    tries: int
    best: str  # the best score; empty before the first
    hints_shown: int
    hints: int


@dataclass(frozen=True)
class Listing:
    """The exercises in teaching order."""

    kit: str
    folder: str
    in_interview: bool
    solved: int
    exercises: list[Listed]


@dataclass(frozen=True)
class Contract:
    """What an exercise asks for: its stub as shipped."""

    exercise: str
    title: str
    level: str
    entry_points: list[str]
    file: str  # the file that the learner edits
    text: str


@dataclass(frozen=True)
class Outcome:
    """What came of one check."""

    name: str
    claim: str
    verdict: str  # pass, fail, todo, error, timeout or skip
    earned: int
    possible: int
    message: str
    untrusted: str  # text from the graded file: its exception's type and message


@dataclass(frozen=True)
class Graded:
    """One grading."""

    exercise: str
    solved: bool
    earned: int
    possible: int
    problem: str  # why nothing could be tried; empty if something could
    untrusted: str  # text from the graded file about that problem
    depth: str  # how much is told of a mistake: nothing, question, place or cause
    says: str
    advice: str
    mistakes: list[str]  # names to call `show_mistake` with
    follows: list[str]  # the checks that fail because of that mistake
    checks: list[Outcome]
    seed: int
    isolation: str
    recorded: str


@dataclass(frozen=True)
class Explained:
    """What is known of one check."""

    exercise: str
    check: str
    verdict: str
    depth: str
    says: list[str]
    recorded: str


@dataclass(frozen=True)
class Hints:
    """The hints shown so far."""

    exercise: str
    hints: list[str]
    left: int
    recorded: str


@dataclass(frozen=True)
class MistakeNames:
    """The catalogue."""

    names: list[str]


@dataclass(frozen=True)
class KnownMistake:
    """One mistake of the catalogue, as far as it is told."""

    name: str
    depth: str
    says: list[str]
    map: list[list[float]]  # weights that the mistake gives, queries by keys; empty if not shown
    right: list[list[float]]


@dataclass(frozen=True)
class Solution:
    """Ours."""

    exercise: str
    text: str
    recorded: str


@dataclass(frozen=True)
class Drawn:
    """One exercise of an interview."""

    name: str
    title: str
    file: str


@dataclass(frozen=True)
class UnderWay:
    """An interview, and the time that is left."""

    folder: str
    exercises: list[Drawn]
    minutes: float
    deadline: str  # ISO 8601, UTC
    minutes_left: int
    recorded: str


@dataclass(frozen=True)
class Done:
    """One exercise of an interview that was handed in."""

    name: str
    solved: bool
    earned: int
    possible: int
    minutes: int | None  # None if the exercise was never saved
    minutes_late: int


@dataclass(frozen=True)
class HandedIn:
    """An interview that is over."""

    folder: str
    solved: int
    exercises: list[Done]
    practise: list[str]
    recorded: str


@dataclass(frozen=True)
class Due:
    """A solved exercise that comes back."""

    name: str
    due: str  # ISO 8601, UTC
    remembered: float  # how likely it would be solved from memory now, 0 to 1


@dataclass(frozen=True)
class Review:
    """What is due for review now, the most forgotten first, and what will be, the nearest first."""

    now: list[Due]
    later: list[Due]


def answer(result: DataclassInstance, text: str) -> CallToolResult:
    """Return a tool's result in both forms, as structured content and as text."""
    content: dict[str, Any] = _sound(asdict(result))
    shown = TextContent(type="text", text=_sound(clean(text)))
    return CallToolResult(content=[shown], structured_content=content)


def _sound(value: Any) -> Any:
    """Replace what UTF-8 cannot encode, as a folder's name may hold bytes that are no Unicode."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {key: _sound(item) for key, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list) else value


def graded(report: Report, depth: Explain, recorded: str) -> Graded:
    """Convert a report, told to a depth, into the structured result of a grading."""
    cause = report.cause
    problem, untrusted = parted(report.problem)
    return Graded(
        exercise=report.exercise,
        solved=report.solved,
        earned=report.earned,
        possible=report.possible,
        problem=problem,
        untrusted=untrusted,
        depth=depth,
        says=clean(cause.says) if cause else "",
        advice=clean(cause.advice) if cause else "",
        mistakes=list(dict.fromkeys(name for names in report.diagnosis for name in names)),
        follows=list(cause.follows) if cause else [],
        checks=[_outcome(check) for check in report.checks],
        seed=report.seed,
        isolation=report.isolation,
        recorded=recorded,
    )


def parted(problem: str) -> tuple[str, str]:
    """Split the reason why nothing could be tried into our words and the graded file's."""
    if problem.startswith("does not import: "):
        return "does not import: what it raised is in `untrusted` of `grade_file`", clean(problem)
    ours, _, theirs = clean(problem).partition("\n")
    return ours, theirs


def _outcome(check: CheckResult) -> Outcome:
    words = words_of(check)
    ours = check.message.removeprefix(words) or RAISED
    return Outcome(
        *(check.name, check.claim, check.verdict, check.earned, check.possible),
        plain_message(replace(check, message=ours) if words else check),
        clean(words),
    )
