"""The tools' results as structured content, each sent with the text that a terminal shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from grader.outputs.phrases import exception_text, frame_lines, plain_message
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Explain, Report

SEE_UNTRUSTED = "it raised an exception; its type and message are in `untrusted`"

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class ExerciseProgress:
    """One exercise, and the learner's progress in it."""

    name: str
    track: str
    level: str
    title: str
    state: str  # new, started or solved
    tries: int
    best: str  # the best score so far, such as 7 / 10; empty if it was never graded
    hints_shown: int
    hints: int  # how many hints there are


@dataclass(frozen=True)
class ExerciseList:
    """The exercises in teaching order."""

    kit: str
    folder: str
    in_interview: bool
    solved: int
    exercises: list[ExerciseProgress]


@dataclass(frozen=True)
class ExerciseContract:
    """What an exercise asks for: the text of its stub as shipped."""

    exercise: str
    title: str
    level: str
    entry_points: list[str]
    file: str  # the file that the learner edits
    text: str


@dataclass(frozen=True)
class CheckOutcome:
    """The result of one check."""

    name: str
    claim: str
    verdict: str  # pass, fail, todo, error, timeout or skip
    earned: int
    possible: int
    message: str
    untrusted: str  # what the graded file itself says: its exception, the lines that raised it


@dataclass(frozen=True)
class GradingOutcome:
    """The result of one grading."""

    exercise: str
    solved: bool
    earned: int
    possible: int
    problem: str  # why no check could be tried; empty if they were tried
    untrusted: str  # what the graded file itself says of that problem, such as its exception
    depth: str  # how much is told about a mistake: nothing, question, place or cause
    says: str  # what may be told about the mistake behind the failures; may be empty
    advice: str  # why that mistake matters; may be empty
    mistakes: list[str]  # names to call `show_mistake` with
    follows: list[str]  # the checks that fail because of that mistake
    checks: list[CheckOutcome]
    seed: int
    isolation: str
    recorded: str  # what was written to the history, or why nothing was


@dataclass(frozen=True)
class CheckExplanation:
    """What may be told about one check."""

    exercise: str
    check: str
    verdict: str
    depth: str
    says: list[str]
    untrusted: str  # what the graded file itself says: its exception, the lines that raised it
    recorded: str


@dataclass(frozen=True)
class ShownHints:
    """The hints shown so far."""

    exercise: str
    hints: list[str]
    left: int
    recorded: str


@dataclass(frozen=True)
class MistakeNames:
    """The names of all known mistakes, in the order of the steps of attention."""

    names: list[str]


@dataclass(frozen=True)
class MistakeDetails:
    """One mistake of the catalogue, in as much detail as its depth allows."""

    name: str
    depth: str
    says: list[str]
    map: list[list[float]]  # attention weights with the mistake, [query][key]; empty if not shown
    right: list[list[float]]  # the right attention weights, likewise


@dataclass(frozen=True)
class Solution:
    """Our solution of an exercise."""

    exercise: str
    text: str
    recorded: str


@dataclass(frozen=True)
class InterviewExercise:
    """One exercise that was drawn for an interview."""

    name: str
    title: str
    file: str


@dataclass(frozen=True)
class InterviewStatus:
    """The interview under way, and the time left."""

    folder: str
    exercises: list[InterviewExercise]
    minutes: float
    deadline: str  # ISO 8601, UTC
    minutes_left: int
    recorded: str


@dataclass(frozen=True)
class InterviewScore:
    """The result of one exercise in an interview that was handed in."""

    name: str
    solved: bool
    earned: int
    possible: int
    minutes: int | None  # None if the exercise was never saved
    minutes_late: int  # how long after the deadline it was last saved; 0 if in time


@dataclass(frozen=True)
class InterviewResult:
    """The result of an interview that was handed in."""

    folder: str
    solved: int
    exercises: list[InterviewScore]
    practise: list[str]  # what to practise next, one line each
    recorded: str


@dataclass(frozen=True)
class DueReview:
    """A solved exercise that is due for review, now or later."""

    name: str
    due: str  # ISO 8601, UTC
    remembered: float  # probability of solving it from memory now, 0 to 1


@dataclass(frozen=True)
class ReviewSchedule:
    """What is due for review now, most forgotten first, and what is due later, soonest first."""

    now: list[DueReview]
    later: list[DueReview]


def tool_result(result: DataclassInstance, text: str) -> CallToolResult:
    """Return a tool's result as structured content, with the text that a terminal would show."""
    content: dict[str, Any] = _encodable(asdict(result))
    shown = TextContent(type="text", text=_encodable(clean(text)))
    return CallToolResult(content=[shown], structured_content=content)


def _encodable(value: Any) -> Any:
    """Replace what UTF-8 cannot encode, as a folder's name may hold bytes that are no Unicode."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def grading_outcome(report: Report, depth: Explain, recorded: str) -> GradingOutcome:
    """Convert a report into the structured result of a grading, as much as ``depth`` allows."""
    cause = report.cause
    problem, untrusted = split_problem(report.problem)
    return GradingOutcome(
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
        checks=[_outcome(report, check) for check in report.checks],
        seed=report.seed,
        isolation=report.isolation,
        recorded=recorded,
    )


def split_problem(problem: str) -> tuple[str, str]:
    """Split the reason why no check could be tried into our words and the graded file's own."""
    if problem.startswith("does not import: "):
        return "does not import: what it raised is in `untrusted` of `grade_file`", clean(problem)
    ours, _, theirs = clean(problem).partition("\n")
    return ours, theirs


def split_message(report: Report, check: CheckResult) -> tuple[str, str]:
    """Split what is known of a check into our words and the graded file's own."""
    if report.problem and check.message == report.problem:
        return split_problem(report.problem)
    if check.fault is None:
        return plain_message(check), ""
    words = exception_text(check)
    message = check.message.removeprefix(words) or SEE_UNTRUSTED
    ours = plain_message(replace(check, message=message, fault=None))
    return ours, clean("\n".join([words, *frame_lines(check.fault)]).strip("\n"))


def _outcome(report: Report, check: CheckResult) -> CheckOutcome:
    return CheckOutcome(
        *(check.name, check.claim, check.verdict, check.earned, check.possible),
        *split_message(report, check),
    )
