"""Verdict, CheckResult, Report: the record of one grading, to and from JSON."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Any

import msgspec


class Verdict(StrEnum):
    """The result of one check."""

    PASS = "pass"
    FAIL = "fail"
    TODO = "todo"  # the submission raised NotImplementedError
    ERROR = "error"  # could not be tried: syntax, import, missing name, exception, crash
    TIMEOUT = "timeout"
    SKIP = "skip"  # its points are neither earned nor possible; always shown with its reason


class Explain(StrEnum):
    """How much a report tells of a known mistake; each level adds to those before it."""

    NOTHING = "nothing"  # only what was expected, what the submission gave, and where
    QUESTION = "question"  # a question that leads to the mistake
    PLACE = "place"  # the step that the mistake is in
    CAUSE = "cause"  # what the mistake is, why it matters, which checks fail because of it


@dataclass(frozen=True)
class Frame:
    """One line of a submission that an exception passed through."""

    file: str
    line: int
    function: str
    source: str


@dataclass(frozen=True)
class TensorLocal:
    """A tensor that was a local variable where an exception was raised."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str


@dataclass(frozen=True)
class Fault:
    """An exception that a submission raised, as the learner should see it."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    tensors: tuple[TensorLocal, ...] = ()


@dataclass(frozen=True)
class Difference:
    """Where two tensors differ the most.

    Attributes:
        name: What was compared, such as ``output``.
        largest: The largest absolute difference.
        allowed: The difference that would have passed, at that place.
        index: The index of the largest difference.
        yours: The submission's value there.
        expected: The right value there.
        wrong: How many elements are out of tolerance.
        total: How many elements there are.
    """

    name: str
    largest: float
    allowed: float
    index: tuple[int, ...]
    yours: float
    expected: float
    wrong: int
    total: int


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one head in one sequence.

    Attributes:
        title: What the map shows, such as ``head 1, under a causal mask``.
        yours: The submission's weights, queries by keys.
        right: The right ones.
    """

    title: str
    yours: tuple[tuple[float, ...], ...]
    right: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, title: str, yours: list[list[float]], right: list[list[float]]) -> AttentionMap:
        """Return a map of computed weights, rounded to 4 digits for people to read."""
        return cls(
            title, *(tuple(tuple(round(w, 4) for w in r) for r in m) for m in (yours, right))
        )

    @property
    def wrong(self) -> bool:
        """Whether the two maps of weights differ by more than rounding."""
        pairs = zip(self.yours, self.right, strict=True)
        gaps = (abs(a - b) for row, other in pairs for a, b in zip(row, other, strict=True))
        return not all(gap < 0.01 for gap in gaps)  # a gap of NaN is wrong too, as NaN < 0.01 fails


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a suite.

    Attributes:
        name: The name of the check's function: ``test_hidden_key_has_no_influence``.
        why: The reason for the check, in the suite's words.
        message: What was expected and what the submission gave; empty if the check passed.
        explanation: What the submission's exception means, or why no mistake was found.
        output: What the submission printed during the check.
        seconds: How long the check took, in seconds.
    """

    name: str
    verdict: Verdict
    points: int
    why: str = ""
    message: str = ""
    difference: Difference | None = None
    fault: Fault | None = None
    explanation: str = ""
    output: str = ""
    seconds: float = 0.0

    @property
    def claim(self) -> str:
        """The check's name as a sentence: ``hidden key has no influence``."""
        return self.name.removeprefix("test_").replace("_", " ")

    @property
    def earned(self) -> int:
        """The points that the submission earned by this check."""
        return self.points if self.verdict is Verdict.PASS else 0

    @property
    def possible(self) -> int:
        """The points that could have been earned by this check; none if it was skipped."""
        return 0 if self.verdict is Verdict.SKIP else self.points

    @property
    def is_lost(self) -> bool:
        """Whether the submission lost points by this check."""
        return self.earned < self.possible


@dataclass(frozen=True)
class Cause:
    """A mistake that is proved to be in the submission, as far as the report tells of it.

    Attributes:
        says: What the mistake is, where it is, or a question about it.
        advice: Why the mistake matters, or where to look.
        follows: The names of the failed checks that fail in the same way if the mistake is planted
            in the solution, in the suite's order.
    """

    says: str
    advice: str = ""
    follows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The record of one grading.

    Attributes:
        exercise: The exercise's name.
        submission: The path of the graded file, as it was given.
        sha256: The SHA-256 of the submission's source, in hexadecimal.
        problem: Why nothing could be tried, said once; empty if the checks ran.
        problem_line: The submission's line that ``problem`` is about; 0 if there is none.
        checks: The results of the checks, in the suite's order.
        seed: The seed that every input is drawn from; the same seed gives the same report.
        device: The device of the submission's tensors.
        isolation: The level of confinement that was in force.
        started: Start of the grading, ISO 8601, UTC.
        seconds: How long the checks took, in seconds.
        versions: The versions of the kit, the grader, Python, torch and the platform.
        output: What the submission printed while it was imported.
        cause: The mistake that reproduces the submission's results, if one is known and told.
        diagnosis: The sets of mistakes, by name, that reproduce the submission's results; more
            than one if no input tells them apart.
        maps: The attention maps that were asked for or are wrong.
        cells: For a notebook, the line of its source on which each code cell begins.
        refused: Why each stronger level of confinement was not available, by its name.
        begins_at: In a fix-it exercise, the points that the file earns as it is handed out: nobody
            has earned them, so the score begins there.
    """

    exercise: str
    submission: str
    sha256: str
    checks: tuple[CheckResult, ...]
    seed: int
    device: str
    isolation: str
    started: str
    seconds: float
    versions: dict[str, str]
    problem: str = ""
    problem_line: int = 0
    output: str = ""
    cause: Cause | None = None
    diagnosis: tuple[tuple[str, ...], ...] = ()
    maps: tuple[AttentionMap, ...] = ()
    cells: tuple[int, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    begins_at: int = 0

    @property
    def earned(self) -> int:
        """The points earned beyond those of the file as it is handed out."""
        return max(sum(check.earned for check in self.checks) - self.begins_at, 0)

    @property
    def possible(self) -> int:
        """The points to be earned beyond the file as handed out; skipped checks are excluded."""
        return max(sum(check.possible for check in self.checks) - self.begins_at, 0)

    @property
    def solved(self) -> bool:
        """Whether every point that could be earned was earned."""
        return 0 < self.possible == self.earned

    @property
    def untouched(self) -> bool:
        """Whether the submission is still a stub: everything raised NotImplementedError."""
        tried = [check for check in self.checks if check.verdict is not Verdict.SKIP]
        return bool(tried) and all(check.verdict is Verdict.TODO for check in tried)

    def following(self, check: CheckResult) -> bool:
        """Return whether the reported cause explains a failed check, which needs no more words."""
        return self.cause is not None and check.name in self.cause.follows

    def place(self, line: int) -> str:
        """Return where a line of the source is: ``exercise3.py:44``, ``work.ipynb cell 3:2``.

        Code cells are counted from 1, and lines within their cell, as Jupyter shows them.

        Args:
            line: The line's number, from 1; below 1, only the file's name is returned.
        """
        name = PurePath(self.submission).name
        if line < 1:
            return name
        cell = bisect_right(self.cells, line)
        if cell == 0:
            return f"{name}:{line}"
        return f"{name} cell {cell}:{max(line - self.cells[cell - 1], 1)}"

    def to_builtins(self) -> dict[str, Any]:
        """Return the report and its score in the types of JSON; non-finite numbers are strings."""
        score = {"earned": self.earned, "possible": self.possible, "solved": self.solved}
        return {"score": score, **_finite(msgspec.to_builtins(self))}

    def to_json(self) -> str:
        """Return the report and its score as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self.to_builtins()), indent=2).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Read a report that ``to_json`` wrote; the score is computed anew.

        Raises:
            msgspec.ValidationError: A field is missing or of another type.
        """
        return msgspec.json.decode(text, type=cls, strict=False)


def _finite(value: Any) -> Any:
    """Replace non-finite floats in a record by strings, as JSON cannot represent them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
