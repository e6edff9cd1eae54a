"""The known-wrong versions of solutions that explain submissions: the edits of a kit."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from grader.diagnosis.edits import EditMistake, edited, read_edits
from grader.kit import Exercise
from grader.submission import Submission, read_submission


@dataclass(frozen=True)
class Wrong:
    """A known-wrong version: the solution with some text replaced."""

    exercise: Exercise
    mistake: EditMistake

    def submission(self) -> Submission:
        """It, to be graded."""
        source = edited(read_submission(self.exercise.solution).source, [self.mistake])
        assert source is not None, "a text to be replaced does not stand once in the solution"
        ast.parse(source)  # a version that is not Python proves nothing
        return Submission(Path(f"{self.exercise.name}.py"), source)


def wrong_versions(exercise: Exercise) -> list[Wrong]:
    """All of an exercise."""
    return [Wrong(exercise, mistake) for mistake in read_edits(exercise.mistakes)]
