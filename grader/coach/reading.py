"""Tools that grade nothing: exercises, contracts, hints, mistakes, solutions, due reviews."""

from __future__ import annotations

import textwrap
import threading
from datetime import UTC, datetime
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from grader.coach.results import (
    DueReview,
    ExerciseContract,
    ExerciseList,
    ExerciseProgress,
    MistakeDetails,
    MistakeNames,
    ReviewSchedule,
    ShownHints,
    Solution,
    tool_result,
)
from grader.coach.rules import LEAST_TELLING_DEPTH, AssistantRules, checked_depth
from grader.diagnosis.catalogue import Mistake, catalogue, find_mistake
from grader.diagnosis.words import PART_TITLES
from grader.kit import Exercise, Kit
from grader.kit.stubs import is_edited, relative_to_cwd, shipped_stub
from grader.outputs.mistakes import describe_mistake, list_mistakes
from grader.outputs.plain import plain_text
from grader.outputs.terminal import render_maps
from grader.practice.agenda import due, due_later, review_lines
from grader.practice.folder import list_lines, reveal_solution
from grader.practice.history import history_file, open_history
from grader.practice.schedule import Standing, standings
from grader.records import AttentionMap, Explain, Grading

Name = Annotated[str, Field(description="Name of an exercise, such as exercise3.", max_length=100)]
MistakeName = Annotated[
    str, Field(description="A name that `list_mistakes` gives.", max_length=100)
]
Depth = Annotated[
    Explain | None,
    Field(description="How much to tell about a mistake; more than the learner allows is refused."),
]


class ReadingTools:
    """The tools that only read, and those that write a line into the history."""

    def __init__(self, rules: AssistantRules) -> None:
        self._rules = rules
        self._one_hint = threading.Lock()

    def list_exercises(self) -> Annotated[CallToolResult, ExerciseList]:
        """List the exercises in teaching order, and the learner's progress in each."""
        kit = self._rules.kit()
        with open_history(kit, to_write=False) as history:
            solved, gradings = history.solved(), history.gradings()
            hints = {exercise.name: history.hints(exercise.name) for exercise in kit.exercises}
        listed = [
            _listed(one, kit, one.name in solved, gradings, hints[one.name])
            for one in kit.exercises
        ]
        names = {one.name for one in listed}
        found = ExerciseList(kit.title, str(kit.home), kit.interview, len(solved & names), listed)
        title = f"{kit.title}, in {kit.home}: {found.solved} of {len(listed)} solved"
        return tool_result(found, "\n".join([title, "", *list_lines(kit, solved)]))

    def show_contract(self, exercise: Name) -> Annotated[CallToolResult, ExerciseContract]:
        """Show what an exercise asks for: the text of its stub, which states every requirement."""
        kit = self._rules.kit()
        chosen = kit.find(exercise)
        text = shipped_stub(chosen).decode()
        entries, file = list(chosen.entry_points), str(relative_to_cwd(chosen.file))
        return tool_result(
            ExerciseContract(chosen.name, chosen.title, chosen.level, entries, file, text), text
        )

    def next_hint(self, exercise: Name) -> Annotated[CallToolResult, ShownHints]:
        """Show the next hint, a question; it is recorded like one shown by `grade hint`."""
        kit = self._rules.kit_for_help()
        chosen = kit.find(exercise)
        with self._one_hint, open_history(kit) as history:
            before = history.hints(chosen.name)
            shown = history.next_hint(chosen)
        total = len(chosen.hints)
        lines = [f"hint {number} of {total}: {text}" for number, text in enumerate(shown, start=1)]
        recorded = f"{len(shown)} of {total} hints shown, says `{history_file(kit)}`"
        if before >= total:
            lines.append("that is all; there is no other hint")
            recorded = "nothing new: all hints were shown before"
        found = ShownHints(chosen.name, shown, total - len(shown), recorded)
        return tool_result(found, "\n".join([*lines, recorded]))

    def list_mistakes(self) -> Annotated[CallToolResult, MistakeNames]:
        """List the known mistakes by name, in the order of the steps of attention."""
        self._rules.kit_for_help()
        return tool_result(MistakeNames(list(catalogue())), "\n".join(list_mistakes()))

    def show_mistake(
        self, name: MistakeName, depth: Depth = None
    ) -> Annotated[CallToolResult, MistakeDetails]:
        """Explain a known mistake: by a question, its place, or in full with an attention map."""
        kit = self._rules.kit_for_help()
        mistake = find_mistake(name)
        deepest = self._rules.max_depth(kit)
        told = checked_depth(deepest if depth is None else depth, deepest, "of a mistake")
        checked_depth(
            LEAST_TELLING_DEPTH, told, "of a mistake"
        )  # refuses a depth at which nothing is told
        says = _told(mistake, told)
        shown = _map(mistake) if told is Explain.CAUSE else []
        text = [mistake.name, *(textwrap.fill(line, 96) for line in says)]
        text += [plain_text(render_maps(shown, mine="so"))] if shown else []
        yours = [list(row) for one in shown for row in one.yours]
        right = [list(row) for one in shown for row in one.right]
        found = MistakeDetails(mistake.name, told, says, yours, right)
        return tool_result(found, "\n".join(text))

    def show_solution(self, exercise: Name) -> Annotated[CallToolResult, Solution]:
        """Show our solution of an exercise; refused until the learner has solved it."""
        kit = self._rules.kit_for_help()
        chosen = kit.find(exercise)
        self._rules.expect_solved(chosen, kit)
        text = reveal_solution(chosen, kit)
        recorded = f"recorded in `{history_file(kit)}` that the solution was read"
        return tool_result(Solution(chosen.name, text, recorded), text)

    def due_for_review(self) -> Annotated[CallToolResult, ReviewSchedule]:
        """List the solved exercises that are due for review now, and those due later."""
        kit = self._rules.kit_for_help()
        now = datetime.now(UTC)
        with open_history(kit, to_write=False) as history:
            known = standings(kit, history, now)
        waiting, later = due(known, now), due_later(known, now)
        found = ReviewSchedule([_due(one) for one in waiting], [_due(one) for _, one in later])
        text = "\n".join(review_lines(waiting, later, now))
        return tool_result(found, text or "nothing solved yet, so nothing to review")


def _listed(
    exercise: Exercise, kit: Kit, solved: bool, gradings: list[Grading], hints: int
) -> ExerciseProgress:
    tries = [one for one in gradings if one.exercise == exercise.name]
    best = max(tries, key=lambda one: one.share, default=None)
    started = "started" if kit.own_stubs and is_edited(exercise) else "new"
    return ExerciseProgress(
        name=exercise.name,
        track=exercise.track,
        level=exercise.level,
        title=exercise.title,
        state="solved" if solved else started,
        tries=len(tries),
        best=f"{best.earned} / {best.possible}" if best else "",
        hints_shown=hints,
        hints=len(exercise.hints),
    )


def _told(mistake: Mistake, depth: Explain) -> list[str]:
    """Return what to tell of a mistake at one of the three depths, as separate texts."""
    question, place = f"A hint: {mistake.hint}", f"Its place: {PART_TITLES[mistake.part]}"
    if depth is Explain.CAUSE:
        return list(describe_mistake(mistake))
    return [question, place] if depth is Explain.PLACE else [question]


def _map(mistake: Mistake) -> list[AttentionMap]:
    """Return a mistake's attention map in a list, empty if the mistake does not show in one."""
    from grader.attention.example import example_map

    shown = example_map(mistake)
    return [] if shown is None else [shown]


def _due(one: Standing) -> DueReview:
    assert one.due is not None
    return DueReview(one.exercise, one.due.isoformat(timespec="seconds"), round(one.remembered, 3))
