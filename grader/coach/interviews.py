"""Tools for a mock interview: begin it, look at it, hand it in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import to_thread
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from grader.coach.bench import SharedGrader
from grader.coach.results import (
    InterviewExercise,
    InterviewResult,
    InterviewScore,
    InterviewStatus,
    tool_result,
)
from grader.coach.rules import DEPTHS, AssistantRules
from grader.errors import GradeError
from grader.kit import Kit, load_kit
from grader.kit.stubs import relative_to_cwd
from grader.outputs.interview import render_interview, what_to_practise
from grader.outputs.plain import plain_text
from grader.practice import handing_in
from grader.practice import interview as interviews
from grader.practice.history import history_file
from grader.records import Explain, Report

Minutes = Annotated[float, Field(description="Minutes for all exercises together.", ge=0.1, le=600)]
Count = Annotated[int, Field(description="How many exercises.", ge=1, le=20)]
Level = Annotated[
    Literal["easy", "medium", "hard"] | None,
    Field(description="Level of all exercises; null: mixed."),
]
NO_INTERVIEW = "no interview is under way; `start_interview` begins one"


class InterviewTools:
    """The tools of a mock interview, during which no other tool helps."""

    def __init__(self, rules: AssistantRules, bench: SharedGrader) -> None:
        self._rules = rules
        self._bench = bench

    async def start_interview(
        self, minutes: Minutes = 45, exercises: Count = 3, level: Level = None
    ) -> Annotated[CallToolResult, InterviewStatus]:
        """Begin a mock interview: exercises at random, a clock, and no help until it is handed in.

        Ask the learner first: the clock starts at once. The exercises get a folder of their own.
        """
        async with self._bench.lock:
            return await to_thread.run_sync(self._start, minutes, exercises, level)

    def _start(self, minutes: float, count: int, level: str | None) -> CallToolResult:
        here = self._rules.kit_for_help()
        kit = interviews.kit_to_draw_from(here)
        folder = interviews.new_folder(here.home if here.own_stubs else Path.cwd())
        names, seed, enough = interviews.choose_exercises(here, kit, count, level)
        interviews.begin(folder, kit, minutes, names, seed)
        recorded = f"begun, and written down in `{folder / interviews.RECORD_PATH}`"
        if not enough:
            recorded += "; too few exercises are left that you have not solved in the last days"
        return _under_way(load_kit(folder), recorded)

    def look_at_interview(self) -> Annotated[CallToolResult, InterviewStatus]:
        """Show the interview under way: its exercises, and the time left."""
        return _under_way(self._kit(), "nothing is written by looking at it")

    async def hand_in_interview(
        self, ctx: Context[Any, Any]
    ) -> Annotated[CallToolResult, InterviewResult]:
        """Hand in the interview: everything is graded and recorded; then the tools help again.

        Ask the learner first: this cannot be undone.
        """
        async with self._bench.lock:
            kit = self._kit()
            depth = min(
                Explain.CAUSE, self._rules.max_depth(self._rules.folder()), key=DEPTHS.index
            )
            handed = handing_in.hand_in(kit)
            graded: list[tuple[Report, str]] = []
            for exercise, submission in handed.submissions:
                report = await self._bench.grade(exercise, submission, depth)
                graded.append((report, submission.source))
                total = len(handed.submissions)
                await ctx.report_progress(len(graded), total, f"{len(graded)} of {total} exercises")
            handing_in.conclude(kit, handed, graded)
        return _over(kit, handed, [report for report, _ in graded])

    def _kit(self) -> Kit:
        kit = self._rules.kit()
        if not kit.interview:
            raise GradeError(NO_INTERVIEW)
        return kit


def _under_way(kit: Kit, recorded: str) -> CallToolResult:
    current = interviews.read_record(kit.home)
    left = max((current.deadline - datetime.now(UTC)).total_seconds() / 60, 0.0)
    drawn = [
        InterviewExercise(one.name, one.title, str(relative_to_cwd(one.file)))
        for one in kit.exercises
    ]
    found = InterviewStatus(
        *(str(kit.home), drawn, current.minutes),
        *(current.deadline.isoformat(timespec="seconds"), math.ceil(left), recorded),
    )
    lines = [f"an interview is under way in {kit.home}: {found.minutes_left} minutes are left"]
    lines += [f"  {one.file}  {one.title}" for one in drawn]
    return tool_result(found, "\n".join([*lines, recorded]))


def _over(kit: Kit, handed: handing_in.HandedIn, reports: Sequence[Report]) -> CallToolResult:
    recorded = f"handed in, and every grading recorded in `{history_file(kit)}`"
    done = [
        InterviewScore(
            *(report.exercise, report.solved, report.earned, report.possible),
            _whole(handed.minutes[report.exercise]),
            round(handed.late[report.exercise]),
        )
        for report in reports
    ]
    solved = sum(report.solved for report in reports)
    found = InterviewResult(str(kit.home), solved, done, what_to_practise(reports), recorded)
    text = plain_text(render_interview(reports, handed.minutes, handed.late))
    return tool_result(found, f"{text}\n{recorded}")


def _whole(minutes: float | None) -> int | None:
    return None if minutes is None else round(minutes)
