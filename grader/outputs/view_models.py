"""A report and its checks as a template needs them: words, anchors, grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath

from grader.outputs.heatmap import Heatmap, heatmap_of
from grader.outputs.phrases import (
    NOT_WRITTEN,
    beyond_what_was_given,
    counted_as_above,
    counted_by_cause,
    difference_facts,
    grouped,
    isolation_in_force,
    next_step,
    printed_lines,
    state_of,
    still_a_stub,
)
from grader.outputs.source_listing import Note, SourceLine, clean_lines, list_source
from grader.records import CheckResult, Frame, Report, Verdict

# The order of verdicts as shown; failures of any kind share a rank, so they keep the suite's order.
VERDICT_ORDER = dict.fromkeys(Verdict, 1) | {Verdict.PASS: 0, Verdict.TODO: 2, Verdict.SKIP: 3}


@dataclass(frozen=True)
class ShownCheck:
    """One check as the templates need it.

    Attributes:
        number: The check's place among those shown, from 1.
        again: The later checks that say the same.
    """

    check: CheckResult
    number: int
    again: Sequence[ShownCheck] = ()

    @property
    def difference(self) -> dict[str, str]:
        """The facts about values that differ, without those that the message already says."""
        one = self.check.difference
        if one is None:
            return {}
        facts = difference_facts(one) | {"allowed": f"{one.allowed:.3g}"}
        count = f"{one.wrong} of {one.total}"
        if f"{one.name}: {count}" not in self.check.message:
            facts |= {"what": one.name, "values that differ": count}
        return facts

    @property
    def counted(self) -> str:
        """A phrase that counts the later checks that say the same."""
        return counted_as_above([one.check for one in self.again])

    @property
    def message(self) -> str:
        """What was expected and what the submission gave."""
        return NOT_WRITTEN if self.check.verdict is Verdict.TODO else self.check.message

    @property
    def raised(self) -> str:
        """The exception; empty where the message already says it."""
        fault = self.check.fault
        if fault is None or f"{fault.type}: {fault.message}" in self.check.message:
            return ""
        return f"{fault.type}: {fault.message}"

    @property
    def printed(self) -> list[str]:
        """What the submission printed during the check, line by line."""
        return printed_lines(self.check.output)


@dataclass(frozen=True)
class ShownReport:
    """One report as the templates need it.

    Attributes:
        key: The prefix of every anchor of this report.
        to_do: The next step, where the caller knows more than the report tells.
    """

    report: Report
    source: str
    key: str
    to_do: str = ""

    @cached_property
    def checks(self) -> list[ShownCheck]:
        """The checks in groups: passed, wrong, not written yet, skipped."""
        checks = sorted(self.report.checks, key=lambda check: VERDICT_ORDER[check.verdict])
        return [ShownCheck(check, number) for number, check in enumerate(checks, 1)]

    @property
    def tried(self) -> bool:
        """Whether the checks were tried: the file has no problem and is no longer a stub."""
        return not self.report.problem and not self.report.untouched

    @property
    def passed(self) -> list[ShownCheck]:
        """The checks that passed."""
        return self._of(Verdict.PASS)

    @property
    def skipped(self) -> list[ShownCheck]:
        """The checks that were skipped."""
        return self._of(Verdict.SKIP)

    @property
    def wrong(self) -> list[ShownCheck]:
        """The checks that lost points."""
        return self._of(Verdict.FAIL, Verdict.ERROR, Verdict.TIMEOUT, Verdict.TODO)

    @cached_property
    def following(self) -> list[ShownCheck]:
        """The checks that lost points and follow from the cause that is shown."""
        return [one for one in self.wrong if self.report.following(one.check)]

    @property
    def counted(self) -> str:
        """A phrase that counts the checks that follow from the cause."""
        return counted_by_cause([one.check for one in self.following])

    @property
    def lost_with_it(self) -> int:
        """The points of the checks that follow from the cause."""
        return sum(one.check.possible for one in self.following)

    @cached_property
    def others(self) -> list[ShownCheck]:
        """The other checks that lost points, each with the later ones that say the same."""
        shown = {one.check.name: one for one in self.wrong if one not in self.following}
        groups = grouped([one.check for one in shown.values()])
        return [
            replace(shown[check.name], again=[shown[one.name] for one in again])
            for check, again in groups
        ]

    @property
    def not_counted_as_given(self) -> str:
        """A phrase on the points that a fix-it file earns as handed out; empty if it earns none."""
        return beyond_what_was_given(self.report)

    @property
    def state(self) -> str:
        """The outcome of the grading, in a few words."""
        return still_a_stub(self.report) if self.report.untouched else state_of(self.report)

    @property
    def next_step(self) -> str:
        """What the learner should do next."""
        return self.to_do or next_step(self.report)

    @property
    def isolation(self) -> str:
        """The level of confinement, and why no stronger one is in force."""
        return isolation_in_force(self.report).partition(" ")[2]

    @property
    def maps(self) -> list[Heatmap]:
        """The attention maps, ready to be drawn."""
        return [heatmap_of(one) for one in self.report.maps]

    @property
    def printed(self) -> list[str]:
        """What the submission printed while it was imported."""
        return printed_lines(self.report.output)

    @property
    def started(self) -> str:
        """When the grading began, to the second."""
        whole, zone = self.report.started[:19], self.report.started[-6:]
        return f"{whole.replace('T', ' ')} UTC" if zone == "+00:00" else self.report.started

    @property
    def file(self) -> str:
        """The submission's name without its folders."""
        return PurePath(self.report.submission).name

    @cached_property
    def lines(self) -> list[SourceLine]:
        """The lines of the source, marked where the submission failed."""
        return list_source(self.source, self._marks(), self.report.cells)

    @property
    def left_out(self) -> int:
        """How many lines of the source are not shown."""
        return len(clean_lines(self.source)) - len(self.lines)

    def place(self, frame: Frame) -> str:
        """Return the place of a frame's line, such as ``exercise3.py:44``."""
        own = frame.file == self.file
        return self.report.place(frame.line) if own else f"{frame.file}:{frame.line}"

    def anchor(self, line: int) -> str:
        """Return the anchor of a source line; empty where the line is not shown."""
        return f"{self.key}-L{line}" if 0 < line <= len(self.lines) else ""

    def anchor_of(self, frame: Frame) -> str:
        """Return the anchor of a frame's line; empty where the frame is in another file."""
        return self.anchor(frame.line) if frame.file == self.file else ""

    def _of(self, *verdicts: Verdict) -> list[ShownCheck]:
        return [one for one in self.checks if one.check.verdict in verdicts]

    def _marks(self) -> dict[int, list[Note]]:
        """Return the notes below lines that failed, with exceptions only where they were raised."""
        found: dict[int, list[Note]] = {}
        if self.report.problem_line:
            found[self.report.problem_line] = []
        said = {again.number for one in self.others for again in one.again}
        for one in self.checks if self.tried else []:
            fault = one.check.fault
            own = [f for f in fault.frames if f.file == self.file] if fault else []
            for frame in own:
                found.setdefault(frame.line, [])
            if fault and own and one.number not in said and one.check.verdict is not Verdict.PASS:
                found[own[-1].line].append(Note(f"{fault.type}: {fault.message}", one.number))
        return found
