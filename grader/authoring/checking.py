"""Holds a kit to the standards of our own, and tells its author where it falls short."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from grader.authoring.answers import Answer, about, answers_folder, read_answers
from grader.authoring.equivalent import equivalent_file, read_equivalent, stands_for
from grader.authoring.findings import Finding, line_of
from grader.authoring.idle import idle_sources
from grader.authoring.mutants import Mutant, drawn, mutants
from grader.authoring.sentences import REFUSED
from grader.authoring.static_findings import (
    contract_findings,
    entry_findings,
    file_findings,
    suite_findings,
)
from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.errors import GradeError, GraderFault
from grader.grading import Options, grade
from grader.kit import Exercise, Kit
from grader.kit.stubs import digest
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission

_T = TypeVar("_T")
MIN_RIGHT_ANSWERS = 3  # in styles other than the solution's: else a suite asks for one style
MIN_MISTAKES = 6
SEED = 1  # of what is graded once
MUTANT_TIMEOUT_S = 2.0  # of one check; a mutant may never end


@dataclass(frozen=True)
class Effort:
    """How much an inspection tries.

    Attributes:
        right: Number of seeds at which the solution and each right answer are graded.
        wrong: Number of seeds for each known mistake, whose score must be the same at all of them.
        named: Whether a report must name each mistake that has a text ``says``.
        mutants: The most mutants of the solution that are graded, drawn from all.
        answers: The most right answers that are graded, and the most wrong ones.
        mistakes: The most known mistakes that are graded.
    """

    right: int = 20
    wrong: int = 5
    named: bool = True
    mutants: int = 200
    answers: int = sys.maxsize
    mistakes: int = sys.maxsize


FAST_EFFORT = Effort(1, 1, named=False, mutants=8, answers=5, mistakes=8)
ONCE = Options(SEED, explain=Explain.NOTHING)


class Inspection:
    """Finds all respects in which one exercise of a kit falls short of our standards.

    Answers run in the sandbox, the kit's suites unconfined; ``tell`` is called after each grading.

    Attributes:
        new_digest: The stub's digest, if the manifest has another; empty otherwise.
        left_out: How many of each kind were not drawn, by its name in the plural.
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
        self.new_digest = ""
        self.left_out = Counter[str]()
        self._at = ""  # name of what is being graded

    def findings(self) -> Iterator[Finding]:
        """Yield all in which the exercise falls short.

        If a file is missing or the suite cannot be loaded, only that is looked at.
        """
        broken = [*file_findings(self._exercise), *suite_findings(self._exercise)]
        yield from broken
        if broken:
            return
        yield from entry_findings(self._kit, self._exercise)
        yield from contract_findings(self._kit, self._exercise)
        try:
            yield from self._graded_findings()
        except GraderFault as fault:  # the author's suite failed, or this machine lacks something
            yield Finding(self._exercise.suite, 0, f"{self._at}: {str(fault).strip()}")

    def _graded_findings(self) -> Iterator[Finding]:
        yield from self._stub()
        file = self._exercise.solution
        right = list(self._expect_solved(Answer(file.stem, read_submission(file), file)))
        yield from right
        if right:
            return  # whatever else is wrong follows from it
        yield from self._answers()
        yield from self._mistakes()
        yield from self.idle_findings()
        yield from self.mutant_findings()

    def _stub(self) -> Iterator[Finding]:
        stub = self._exercise.stub
        self._at = "the stub"
        report = self._graded(read_submission(stub).source)
        earned = report.earned - self._exercise.begins_at
        if earned and self._exercise.diagnosis:
            told = f"as it is given, the stub earns {earned} points; take out what answers"
            yield Finding(stub, 0, told)
        elif (now := digest(stub.read_bytes())) != self._exercise.digest:
            self.new_digest = now

    def _answers(self) -> Iterator[Finding]:
        folder = answers_folder(self._exercise) / self._exercise.name
        try:
            known = read_answers(self._exercise)
        except GradeError as error:
            yield Finding(folder, 0, str(error))
            return
        right = [one for one in known if one.kind == "right"]
        if len(right) < MIN_RIGHT_ANSWERS and self._exercise.diagnosis:
            told = f"{len(right)} right answers; write {MIN_RIGHT_ANSWERS} in styles that differ"
            yield Finding(folder, 0, told)
        wrong = [one for one in known if one.kind == "wrong" and not one.accepted]
        for one in self._drawn("right answers", right, self._effort.answers):
            yield from self._expect_solved(one)
        for one in self._drawn("wrong ones", wrong, self._effort.answers):
            yield from self._expect_lost(one)

    def _expect_solved(self, answer: Answer) -> Iterator[Finding]:
        source, self._at = answer.submission.source, f"`{answer.name}`"
        for seed in range(1, self._effort.right + 1):
            report = self._graded(source, replace(ONCE, seed=seed))
            if report.solved:
                continue
            lost = [check.name for check in report.checks if check.is_lost]
            what = f"loses `{lost[0]}`" if lost else report.problem
            why = "mend it, or the check, which asks for what no contract says"
            yield about(answer, f"is right, and at seed {seed} {what}; {why}")
            return

    def _expect_lost(self, answer: Answer) -> Iterator[Finding]:
        self._at = f"`{answer.name}`"
        if self._loses(answer.submission.source, answer.loses):
            return
        report = self._graded(answer.submission.source)
        if report.solved:
            yield about(answer, "is wrong, and earns every point; add a check that it loses")
            return
        for name in sorted(answer.loses - {one.name for one in report.checks if one.is_lost}):
            yield about(answer, f"keeps `{name}`; ask there for what it gets wrong")

    def _mistakes(self) -> Iterator[Finding]:
        exercise = self._exercise
        known = read_edits(exercise.mistakes)
        if len(known) < MIN_MISTAKES and exercise.diagnosis:
            told = f"{len(known)} known mistakes; write {MIN_MISTAKES} that people make, at least"
            yield Finding(exercise.mistakes, 0, told)
        source = read_submission(exercise.solution).source
        for mistake in self._drawn("known mistakes", known, self._effort.mistakes):
            line = line_of(exercise.mistakes, f'name = "{mistake.name}"')
            for text in self._of_edit(mistake, edited(source, [mistake])):
                yield Finding(exercise.mistakes, line, f"`{mistake.name}` {text}")

    def _of_edit(self, mistake: EditMistake, source: str | None) -> Iterator[str]:
        if source is None:
            yield "does not fit the solution; each text of `edits` must stand in it exactly once"
            return
        self._at = f"`{mistake.name}`"
        is_for_one_check = self._effort.wrong == 1 and not self._effort.named
        if not (is_for_one_check and self._loses(source, {mistake.loses})):
            yield from self._of_mistake(mistake, source)

    def _of_mistake(self, mistake: EditMistake, source: str) -> Iterator[str]:
        is_named = self._effort.named and bool(mistake.says)
        told = "nothing"
        earned: list[dict[str, int]] = []
        for seed in range(1, self._effort.wrong + 1):
            explain = Explain.CAUSE if is_named and seed == 1 else Explain.NOTHING
            report = self._graded(source, replace(ONCE, seed=seed, explain=explain))
            told = report.cause.says if report.cause else told
            earned.append({one.name: one.earned for one in report.checks})
            check = next((one for one in report.checks if one.name == mistake.loses), None)
            if mistake.loses == REFUSED:
                if not report.problem_line:
                    yield "is not refused; name what it may not use in the manifest's `forbidden`"
                return
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

    def idle_findings(self) -> Iterator[Finding]:
        """Yield which answers that do nothing earn a tenth of the points or more."""
        exercise = self._exercise
        if not exercise.diagnosis:
            return
        right = read_submission(exercise.solution).source
        for what, source in idle_sources(right, exercise.entry_points):
            self._at = f"an answer that gives {what}"
            report = self._graded(source)
            if report.earned >= report.possible / 10:
                kept = [check.name for check in report.checks if check.earned]
                told = f"{self._at} earns {report.earned} of {report.possible}"
                yield Finding(exercise.suite, 0, f"{told}, by `{kept[0]}`; ask for more there")

    def mutant_findings(self) -> Iterator[Finding]:
        """Yield which changes of the solution no check notices, and which are listed wrongly."""
        exercise = self._exercise
        every = mutants(read_submission(exercise.solution).source)
        changes, file = [one.change for one in every], equivalent_file(exercise)
        equivalent = read_equivalent(file).get(exercise.name, {})
        listed: dict[str, str] = {}
        for entry, why in equivalent.items():
            found = [change for change in changes if stands_for(entry, change)]
            listed |= dict.fromkeys(found, entry)
            if not found:
                told = (
                    f"no small change of `{exercise.name}` is `{entry}`; take it out, or renew it"
                )
                yield Finding(file, line_of(file, entry), told)
            elif not why.strip():
                told = f"`{entry}` is listed without a reason; say why it changes no result"
                yield Finding(file, line_of(file, entry), told)
        for one in self._drawn("changes", every, self._effort.mutants):
            yield from self._of_mutant(one, listed.get(one.change))

    def _of_mutant(self, mutant: Mutant, entry: str | None) -> Iterator[Finding]:
        exercise, file = self._exercise, equivalent_file(self._exercise)
        self._at = f"`{mutant.change}`"
        options = replace(ONCE, timeout=MUTANT_TIMEOUT_S, stop_at_first_lost=True)
        report = self._graded(mutant.source, options)
        if report.solved and entry is None:
            advice = f"or list it in `tests/answers/{file.name}` with the reason"
            told = f"no check notices `{mutant.change}`; add one that does, {advice}"
            yield Finding(exercise.solution, mutant.line, told)
        if entry is not None and not report.solved:
            told = f"`{mutant.change}` is listed as equivalent, and loses points; take it out"
            yield Finding(file, line_of(file, entry), told)

    def _drawn(self, what: str, every: Sequence[_T], most: int) -> list[_T]:
        """Return up to ``most`` of these, always the same, and count what is left out."""
        chosen = drawn(every, most, SEED)
        self.left_out[what] += len(every) - len(chosen)
        return chosen

    def _loses(self, source: str, names: Set[str]) -> bool:
        """Return whether a source loses all these checks, or any if no name is given.

        No other check is tried, which takes a third of a grading. Where they hold by themselves, a
        whole grading may still fail them: only there is it known who does nothing at all.
        """
        options = replace(ONCE, only=tuple(names) or None, stop_at_first_lost=not names)
        report = self._graded(source, options)
        lost = {one.name for one in report.checks if one.is_lost}
        return not report.problem and bool(lost) and names <= lost

    def _graded(self, source: str, options: Options = ONCE) -> Report:
        submission = Submission(Path(f"{self._exercise.name}.py"), source)
        report = grade(submission, self._exercise, options, self._sandbox)
        self._tell()
        return report
