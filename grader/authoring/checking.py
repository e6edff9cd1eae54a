"""Holds a kit to the standards of our own, and tells its author where it falls short."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from grader.authoring.layout import record_stub_digest, right_answers_folder
from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.errors import GradeError, GraderFault
from grader.grading import Options, grade
from grader.kit import MANIFEST, Exercise, Kit
from grader.kit.stubs import digest
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import SourceProblem, Submission, parse, read_submission
from grader.suite import checks_of, load_suite

MIN_RIGHT_ANSWERS = 3  # in styles other than the solution's: else a suite asks for one style
MIN_MISTAKES = 6
MIN_HINTS = 2
# Answers that do nothing: what each returns in place of a right output, as an expression.
IDLE_OUTPUTS = {"zeros": "out*0", "not a number": "out*float('nan')"}
IDLE_SOURCE = """

import torch


def _idle(given):
    def call(*args, **kwargs):
        out = given(*args, **kwargs)
        whole = out if isinstance(out, tuple) else (out,)
        done = tuple({does} if isinstance(out, torch.Tensor) else out for out in whole)
        return done if isinstance(out, tuple) else done[0]
    return call


for _name in {names}:
    if isinstance(globals()[_name], type):
        globals()[_name].forward = _idle(globals()[_name].forward)
    else:
        globals()[_name] = _idle(globals()[_name])
"""


@dataclass(frozen=True)
class Effort:
    """How much an inspection tries.

    Attributes:
        right: Number of seeds at which the solution and each right answer are graded.
        wrong: Number of seeds for each known mistake, whose score must be the same at all of them.
        named: Whether a report must name each mistake that has a text ``says``.
    """

    right: int = 20
    wrong: int = 5
    named: bool = True


FAST_EFFORT = Effort(2, 1, named=False)


class Finding(NamedTuple):
    """One thing in which an exercise falls short.

    Attributes:
        file: The file in which to mend it.
        line: The line in that file; 0 for the file as a whole.
        text: What is wrong, and the next step.
    """

    file: Path
    line: int
    text: str


class Inspection:
    """Finds all respects in which one exercise of a kit falls short of our standards.

    Args:
        kit: The kit, whose suites run unconfined.
        exercise: The exercise, one of the kit's.
        sandbox: The sandbox in which answers run.
        effort: How much is tried.
        tell: Called after each grading.

    Attributes:
        has_new_stub: Whether the stub was changed; if so, the manifest has its new digest.
    """

    def __init__(
        self,
        kit: Kit,
        exercise: Exercise,
        sandbox: Sandbox,
        effort: Effort,
        tell: Callable[[], object],
    ) -> None:
        self._kit, self._exercise = kit, exercise
        self._sandbox, self._effort, self._tell = sandbox, effort, tell
        self._manifest = kit.home / "exercises" / MANIFEST
        self.has_new_stub = False
        self._at = ""  # name of what is being graded

    def findings(self) -> Iterator[Finding]:
        """Yield all in which the exercise falls short.

        If a file is missing or the suite cannot be loaded, only that is looked at.
        """
        broken = [*self._files(), *self._suite()]
        yield from broken
        if broken:
            return
        yield from self._entry()
        try:
            yield from self._graded_findings()
        except GraderFault as fault:  # the author's suite failed, or this machine lacks something
            yield Finding(self._exercise.suite, 0, f"{self._at}: {str(fault).strip()}")

    def _graded_findings(self) -> Iterator[Finding]:
        yield from self._stub()
        right = list(self._expect_solved(self._exercise.solution))
        yield from right
        if right:
            return  # whatever else is wrong follows from it
        yield from self._right_answers()
        yield from self._mistakes()
        yield from self._idle()

    def _files(self) -> Iterator[Finding]:
        exercise = self._exercise
        for what, file in (
            ("stub", exercise.stub), ("solution", exercise.solution), ("suite", exercise.suite)
        ):  # fmt: skip
            if not file.is_file():
                yield Finding(file, 0, f"the {what} of `{exercise.name}` is missing; write it")
                continue
            try:
                parse(read_submission(file))
            except (GradeError, SourceProblem) as error:
                yield Finding(file, 0, f"cannot be read: {error}")

    def _suite(self) -> Iterator[Finding]:
        suite = self._exercise.suite
        if not suite.is_file():
            return
        try:
            checks = checks_of(load_suite(str(suite), suite.name))
        except Exception as error:  # whatever its author's code raises
            yield Finding(suite, 0, f"cannot be loaded: {type(error).__name__}: {error}")
            return
        if not checks:
            yield Finding(suite, 0, "has no check; a function `test_…` with `@points` is one")
        for name, check in checks.items():
            if not inspect.getdoc(check):
                line = inspect.getsourcelines(check)[1]
                yield Finding(suite, line, f"`{name}` says nothing; give it a docstring, why it is")

    def _entry(self) -> Iterator[Finding]:
        """Inspect the manifest's entry, and whether stub and solution have the same signatures."""
        exercise = self._exercise
        line = _line_of(self._manifest, f'name = "{exercise.name}"')
        if len(exercise.hints) < MIN_HINTS:
            told = f"has {len(exercise.hints)} hints; write {MIN_HINTS} at least, each a question"
            yield Finding(self._manifest, line, f"`{exercise.name}` {told}")
        for hint in exercise.hints:
            if not hint.endswith("?"):
                where = _line_of(self._manifest, hint[:40])
                yield Finding(self._manifest, where, "a hint is no question; end it with `?`")
        signatures = [_signatures(file) for file in (exercise.stub, exercise.solution)]
        defined = {name.partition(".")[0] for name in signatures[0]}
        for name in exercise.entry_points:
            if name not in defined:
                told = f"defines no `{name}`, which `entry_points` names; define it, or mend that"
                yield Finding(exercise.stub, 0, told)
        for name, signature in signatures[0].items():
            if (there := signatures[1].get(name)) != signature:
                told = f"`{name}{signature}` of the stub is `{name}{there or ' missing'}` here"
                yield Finding(exercise.solution, 0, f"{told}; make them the same")

    def _stub(self) -> Iterator[Finding]:
        stub = self._exercise.stub
        self._at = "the stub"
        report = self._graded(read_submission(stub).source, 1)
        earned = report.earned - self._exercise.begins_at
        if earned and self._exercise.diagnosis:
            told = f"as it is given, the stub earns {earned} points; take out what answers"
            yield Finding(stub, 0, told)
        elif (now := digest(stub.read_bytes())) != self._exercise.digest:
            record_stub_digest(self._kit.home, self._exercise.name, now)
            self.has_new_stub = True

    def _right_answers(self) -> Iterator[Finding]:
        folder = right_answers_folder(self._kit.home, self._exercise.name)
        files = sorted(folder.glob("right_*.py"))
        if len(files) < MIN_RIGHT_ANSWERS and self._exercise.diagnosis:
            told = f"{len(files)} right answers; write {MIN_RIGHT_ANSWERS} in styles that differ"
            yield Finding(folder, 0, told)
        for file in files:
            yield from self._expect_solved(file)

    def _expect_solved(self, file: Path) -> Iterator[Finding]:
        source, self._at = read_submission(file).source, f"`{file.name}`"
        for seed in range(1, self._effort.right + 1):
            report = self._graded(source, seed)
            if report.solved:
                continue
            lost = [check.name for check in report.checks if check.is_lost]
            what = f"loses `{lost[0]}`" if lost else report.problem
            why = "mend it, or the check, which asks for what no contract says"
            yield Finding(file, 0, f"is right, and at seed {seed} {what}; {why}")
            return

    def _mistakes(self) -> Iterator[Finding]:
        exercise = self._exercise
        known = read_edits(exercise.mistakes)
        if len(known) < MIN_MISTAKES and exercise.diagnosis:
            told = f"{len(known)} known mistakes; write {MIN_MISTAKES} that people make, at least"
            yield Finding(exercise.mistakes, 0, told)
        source = read_submission(exercise.solution).source
        for mistake in known:
            line = _line_of(exercise.mistakes, f'name = "{mistake.name}"')
            for text in self._of_mistake(mistake, source):
                yield Finding(exercise.mistakes, line, f"`{mistake.name}` {text}")

    def _of_mistake(self, mistake: EditMistake, right: str) -> Iterator[str]:
        source = edited(right, [mistake])
        if source is None:
            yield "does not fit the solution; each text of `edits` must stand in it exactly once"
            return
        self._at = f"`{mistake.name}`"
        is_named = self._effort.named and bool(mistake.says)
        told = "nothing"
        earned: list[dict[str, int]] = []
        for seed in range(1, self._effort.wrong + 1):
            wants_cause = is_named and seed == 1
            report = self._graded(source, seed, Explain.CAUSE if wants_cause else Explain.NOTHING)
            told = report.cause.says if report.cause else told
            earned.append({one.name: one.earned for one in report.checks})
            check = next((one for one in report.checks if one.name == mistake.loses), None)
            if report.problem:
                yield f"cannot be graded: {report.problem}"
                return
            if check is None:
                yield f"loses `{mistake.loses}`, and there is no such check; name one that is"
                return
            if check.verdict is Verdict.PASS:
                yield f"keeps `{mistake.loses}` at seed {seed}; ask there for what it gets wrong"
                return
        unsteady = [name for name in earned[0] if len({one[name] for one in earned}) > 1]
        if unsteady:
            yield f"loses `{unsteady[0]}` at some seeds alone; nothing may be left to chance"
        if is_named and mistake.says not in told and not told.startswith("NaN begins at "):
            advice = "leave out `says` and `hint`, or make the edit what they say"
            yield f"is not what a report says of it, but: {told}; {advice}"

    def _idle(self) -> Iterator[Finding]:
        exercise = self._exercise
        if not exercise.diagnosis:
            return
        right = read_submission(exercise.solution).source
        for what, does in IDLE_OUTPUTS.items():
            self._at = f"an answer that gives {what}"
            source = f"{right}{IDLE_SOURCE.format(does=does, names=exercise.entry_points)}"
            report = self._graded(source, 1)
            if report.earned >= report.possible / 10:
                kept = [check.name for check in report.checks if check.earned]
                told = f"an answer that gives {what} earns {report.earned} of {report.possible}"
                yield Finding(exercise.suite, 0, f"{told}, by `{kept[0]}`; ask for more there")

    def _graded(self, source: str, seed: int, explain: Explain = Explain.NOTHING) -> Report:
        submission = Submission(Path(f"{self._exercise.name}.py"), source)
        options = Options(seed, explain=explain)
        report = grade(submission, self._exercise, options, self._sandbox)
        self._tell()
        return report


def _signatures(file: Path) -> dict[str, str]:
    """Return every function and method of a file, with its arguments and their types."""
    tree = parse(read_submission(file))
    owners: list[tuple[str, ast.Module | ast.ClassDef]] = [("", tree)]
    owners += [(f"{n.name}.", n) for n in tree.body if isinstance(n, ast.ClassDef)]
    return {
        prefix + node.name: f"({ast.unparse(node.args)})"
        for prefix, owner in owners
        for node in owner.body
        if isinstance(node, ast.FunctionDef)
    }


def _line_of(file: Path, text: str) -> int:
    """Return the number of a file's first line that holds a text; 0 where none does."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return next((number for number, line in enumerate(lines, 1) if text in line), 0)
