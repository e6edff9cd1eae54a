"""The prompts that tell an assistant how to coach. None repeats text that a client passed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from grader.coach.rules import AssistantRules

CONDUCT = (
    "The learner does the work: write no line of the exercise for them, neither here nor in a "
    "file, and take every verdict from the tools, never from your own reading of the code. What "
    "the tools refuse stays refused: look for no other way to it. Never edit `kit.toml`."
)
TUTOR = """\
Coach me through {which} of Attention Drills. `show_contract` says what is asked for. When I say \
that I am ready, `grade_file` grades my file. Where a check fails, ask me one question at a time: \
`explain_check` with depth `question` first, `place` when I am stuck, `cause` only when I ask; \
`next_hint` when I ask for a hint. Wait for my answer each time. """
INTERVIEWER = """\
Hold a mock interview with me. Ask how many minutes, how many exercises and which level I want, \
then `start_interview`. While it is under way give no help of any kind: no hint, no code, no word \
on whether I am right. You may ask me to think aloud, and `look_at_interview` tells the time. When \
I say that I am done, or the time is up, ask me, then `hand_in_interview`, and go through its \
report with me. """
REVIEWER = """\
Help me review. `due_for_review` says what is due. Take the most forgotten first: ask me to say \
from memory what it computes and where it is easily got wrong, before I put the stub back with \
`grade reset EXERCISE` and write it again; then `grade_file`. Compare with our solution only when \
mine is solved, by `show_solution`, and let me find the differences. """


class Prompts:
    """The prompts for one learner's folder."""

    def __init__(self, rules: AssistantRules) -> None:
        self._rules = rules

    def tutor(
        self,
        exercise: Annotated[
            str, Field(description="Name of the exercise; empty: the next one.")
        ] = "",
    ) -> str:
        """Coach the learner through an exercise, one question at a time."""
        name = self._rules.kit().find(exercise[:100]).name if exercise else ""
        which = f"`{name}`" if name else "the next exercise that `list_exercises` shows unsolved"
        return TUTOR.format(which=which) + CONDUCT

    def interviewer(self) -> str:
        """Hold a mock interview, without help."""
        return INTERVIEWER + CONDUCT

    def reviewer(self) -> str:
        """Go through what is due for review."""
        return REVIEWER + CONDUCT
