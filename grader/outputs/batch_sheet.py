"""Topics for a candidate's interview: the file, what broke it, questions, a mistake to find."""

from __future__ import annotations

import ast
import difflib
import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.kit import Exercise, Kit
from grader.kit.toml_files import read_toml
from grader.outputs.batch_ideas import DEFAULT_IDEA, IdeaScore, idea_of
from grader.records import CheckResult, Report
from grader.submission import SourceProblem, Submission, parse

MAX_QUESTIONS = 5
MAX_LOST_IDEA_QUESTIONS = 3  # of these; more if there are too few about other ideas


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question.

    Attributes:
        idea: The idea that the question is about: one of the kit's, or ``robustness``.
        ask: The text of the question.
        good: What a sound answer contains.
    """

    idea: str
    ask: str
    good: str


class _QuestionsFile(msgspec.Struct, forbid_unknown_fields=True):
    question: list[Question]


@dataclass(frozen=True)
class FirstFailure:
    """The first check of an exercise that lost points for a reason of its own.

    Attributes:
        command: The command that writes the failed comparison as a script.
    """

    exercise: str
    check: CheckResult
    command: str


@dataclass(frozen=True)
class PlantedMistake:
    """Our solution with one mistake, for a candidate to find.

    Attributes:
        is_own_mistake: Whether the candidate's own file loses points where this mistake does.
        changed: The lines that differ from our solution, as in a diff.
    """

    exercise: str
    name: str
    is_own_mistake: bool
    changed: Sequence[str]
    source: str


@dataclass(frozen=True)
class InterviewSheet:
    """All topics for the interview with one candidate.

    Attributes:
        built: By exercise, what the candidate's file defines and calls.
    """

    built: Mapping[str, str]
    first_failures: Sequence[FirstFailure]
    questions: Sequence[Question]
    planted: PlantedMistake | None


@cache
def read_questions(path: Path) -> tuple[Question, ...]:
    """Return a kit's questions; none where the kit has no file of questions.

    Raises:
        GradeError: The file is damaged.
    """
    return tuple(read_toml(path, _QuestionsFile).question) if path.is_file() else ()


def draw_sheet(
    kit: Kit, graded: Sequence[tuple[Report, str]], scores: Mapping[str, IdeaScore]
) -> InterviewSheet:
    """Draw the topics for an interview; the sources are the seed, so equal files draw the same.

    Args:
        kit: The kit from whose questions and mistakes some are drawn.
        graded: One report for each exercise, with the source of the submission.
        scores: The candidate's points by idea.
    """
    texts = "\0".join(source for _, source in graded)
    dice = random.Random(hashlib.sha256(texts.encode(errors="surrogatepass")).digest())
    return InterviewSheet(
        {report.exercise: describe_source(source) for report, source in graded},
        [found for report, _ in graded for found in _first_failure(report)],
        _draw_questions(
            read_questions(kit.questions), kit, [one for one, _ in graded], scores, dice
        ),
        _plant_mistake(kit, [one for one, _ in graded], dice),
    )


def describe_source(source: str) -> str:
    """Describe a file: its length, what it defines, and which attributes it calls: ``x.name()``."""
    try:
        tree = parse(Submission(Path("handed_in.py"), source))
    except SourceProblem:
        return "no Python"
    defined = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    names = dict.fromkeys(f"`{one.name}`" for one in defined if not one.name.startswith("__init"))
    called = (one.func for one in ast.walk(tree) if isinstance(one, ast.Call))
    calls = dict.fromkeys(
        f"`{one.attr}`" for one in called if isinstance(one, ast.Attribute) and one.attr[0] != "_"
    )
    lines = sum(bool(line.strip()) for line in source.splitlines())
    parts = [f"{lines} line{'s' if lines != 1 else ''}", f"defines {_listed(names)}"]
    return "; ".join([*parts, f"calls {_listed(calls)}"] if calls else parts)


def _listed(names: Mapping[str, None], most: int = 12) -> str:
    shown = ", ".join([*names][:most]) or "nothing"
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _first_failure(report: Report) -> Iterator[FirstFailure]:
    lost = [one for one in report.checks if one.is_lost] if not report.problem else []
    apart = [one for one in lost if not report.following(one)] or lost
    if apart:
        command = f"grade {report.exercise} FILE --seed {report.seed} --case case.py"
        yield FirstFailure(report.exercise, apart[0], command)


def _draw_questions(
    known: Sequence[Question],
    kit: Kit,
    reports: Sequence[Report],
    scores: Mapping[str, IdeaScore],
    dice: random.Random,
) -> list[Question]:
    """Draw questions, some about ideas that lost points, the others about ideas that did not.

    Each idea gets one question, as long as there are enough ideas.
    """
    lost = {name for name, one in scores.items() if one.earned < one.possible}
    asked = {idea_of(check.name, kit.ideas) for one in reports for check in one.checks} | {
        DEFAULT_IDEA
    }
    there = [one for one in dice.sample(known, len(known)) if one.idea in asked]
    turns: dict[str, int] = {}
    ranked = []
    for question in there:
        turns[question.idea] = turns.get(question.idea, 0) + 1
        ranked.append((turns[question.idea], question))
    ranked.sort(key=lambda pair: pair[0])
    about = [one for _, one in ranked if one.idea in lost][:MAX_LOST_IDEA_QUESTIONS]
    others = [one for _, one in ranked if one not in about]
    others.sort(key=lambda one: one.idea in lost)
    return [*about, *others][:MAX_QUESTIONS]


def _plant_mistake(
    kit: Kit, reports: Sequence[Report], dice: random.Random
) -> PlantedMistake | None:
    """Plant a mistake found in a file; else one that loses the same check as a file; else any."""
    every = [
        (report, kit.find(report.exercise), mistake)
        for report in reports
        for mistake in _mistakes(kit.find(report.exercise))
    ]
    named = [
        (e, m) for r, e, m in every if m.name.replace(" ", "-") in chain.from_iterable(r.diagnosis)
    ]
    alike = [
        (e, m) for r, e, m in every if m.loses in {one.check.name for one in _first_failure(r)}
    ]
    for found, is_own_mistake in (
        (named, True),
        (alike, True),
        ([(e, m) for _, e, m in every], False),
    ):
        for exercise, mistake in dice.sample(found, len(found)):
            right = exercise.solution.read_text(encoding="utf-8")
            wrong = edited(right, [mistake])
            if wrong is not None:
                return PlantedMistake(
                    exercise.name, mistake.name, is_own_mistake, _diff(right, wrong), wrong
                )
    return None


@cache
def _mistakes(exercise: Exercise) -> list[EditMistake]:
    return read_edits(exercise.mistakes) if exercise.diagnosis else []


def _diff(right: str, wrong: str) -> list[str]:
    lines = difflib.unified_diff(right.splitlines(), wrong.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
