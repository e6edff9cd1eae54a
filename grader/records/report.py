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
    """What came of one check."""

    PASS = "pass"
    FAIL = "fail"
    TODO = "todo"  # the submission raised NotImplementedError
    ERROR = "error"  # could not be tried: syntax, import, missing name, exception, crash
    TIMEOUT = "timeout"
    SKIP = "skip"  # neither earned nor possible; always shown with its reason


class Explain(StrEnum):
    """How much is told of a known mistake: each tells what those before it tell, and more."""

    NOTHING = "nothing"  # what was expected, what came, where
    QUESTION = "question"  # one that leads to it
    PLACE = "place"  # the step that it is in
    CAUSE = "cause"  # what it is, why it matters, which checks follow from it


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
        index: Where it is.
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
    """Who attends to whom: one head, one sequence.

    Attributes:
        title: Such as ``head 1, under a causal mask``.
        yours: The submission's weights, queries by keys.
        right: The right ones.
    """

    title: str
    yours: tuple[tuple[float, ...], ...]
    right: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, title: str, yours: list[list[float]], right: list[list[float]]) -> AttentionMap:
        """A map of weights as they were computed, rounded to what a person reads."""
        return cls(
            title, *(tuple(tuple(round(w, 4) for w in r) for r in m) for m in (yours, right))
        )

    @property
    def wrong(self) -> bool:
        """Whether the two differ by more than rounding."""
        pairs = zip(self.yours, self.right, strict=True)
        gaps = (abs(a - b) for row, other in pairs for a, b in zip(row, other, strict=True))
        return not all(gap < 0.01 for gap in gaps)  # NaN is no less than anything


@dataclass(frozen=True)
class CheckResult:
    """What came of one check of a suite.

    Attributes:
        name: Of its function: ``test_hidden_key_has_no_influence``.
        why: What stands behind the claim, in the suite's words.
        message: What was expected and what came; empty where it passed.
        explanation: What its exception means, or why no mistake was found.
        output: What the submission printed meanwhile.
        seconds: How long it took, in seconds.
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
        """The points that this check brought."""
        return self.points if self.verdict is Verdict.PASS else 0

    @property
    def possible(self) -> int:
        """The points that this check could have brought; none when it was skipped."""
        return 0 if self.verdict is Verdict.SKIP else self.points

    @property
    def is_lost(self) -> bool:
        """Whether points were lost."""
        return self.earned < self.possible


@dataclass(frozen=True)
class Cause:
    """A mistake that is proved, as far as it is told.

    Attributes:
        says: What it is, where it is, or a question about it.
        advice: Why it matters, or where to look.
        follows: The names of the failed checks that fail in the same way where it is planted in
            the solution, in the suite's order.
    """

    says: str
    advice: str = ""
    follows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The record of one grading.

    Attributes:
        exercise: The exercise's name.
        submission: The file that was graded, as it was named.
        sha256: Of the submission's source, in hexadecimal.
        problem: Why nothing could be tried, said once; empty when the checks ran.
        problem_line: The submission's line that ``problem`` speaks of; 0 where there is none.
        checks: In the suite's order.
        seed: Draws every input; the same seed gives the same report.
        device: Where the submission's tensors lay.
        isolation: The level of confinement that was in force.
        started: Start of the grading, ISO 8601, UTC.
        seconds: How long the checks took, in seconds.
        versions: Of the kit, the grader, Python, torch and the platform.
        output: What the submission printed while it was imported.
        cause: The mistake that reproduces what it computes, where one is known and told.
        diagnosis: The sets of mistakes, by name, that reproduce what it computes; more than one
            where no input tells them apart.
        maps: Attention maps, of those that were asked for or are wrong.
        cells: Of a notebook, the line of its source on which each code cell begins.
        refused: Why each stronger level of confinement could not be had, by its name.
        begins_at: The points that the file earns as it is given, of a fix-it exercise: nobody has
            earned them, so the score begins there.
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
        """Points earned beyond those of the file as it is given."""
        return max(sum(check.earned for check in self.checks) - self.begins_at, 0)

    @property
    def possible(self) -> int:
        """Points that could be earned beyond those; skipped checks left out."""
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
        """Whether a check fails by the cause that is told, which then is all there is to say."""
        return self.cause is not None and check.name in self.cause.follows

    def place(self, line: int) -> str:
        """Where a line of the source is: ``exercise3.py:44``, ``work.ipynb cell 3:2``.

        Cells are counted as code cells from 1, and lines within their cell, as Jupyter shows them.

        Args:
            line: From 1; below that, the answer is the file alone.
        """
        name = PurePath(self.submission).name
        if line < 1:
            return name
        cell = bisect_right(self.cells, line)
        if cell == 0:
            return f"{name}:{line}"
        return f"{name} cell {cell}:{max(line - self.cells[cell - 1], 1)}"

    def to_builtins(self) -> dict[str, Any]:
        """This report and its score in JSON's own types; what is not finite is a string."""
        score = {"earned": self.earned, "possible": self.possible, "solved": self.solved}
        return {"score": score, **_finite(msgspec.to_builtins(self))}

    def to_json(self) -> str:
        """The same as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self.to_builtins()), indent=2).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Report:
        """Read what ``to_json`` wrote; the score is computed anew.

        Raises:
            msgspec.ValidationError: A field is missing or of another type.
        """
        return msgspec.json.decode(text, type=cls, strict=False)


def _finite(value: Any) -> Any:
    """The same record; JSON has no word for what is not finite, so it is written as a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
